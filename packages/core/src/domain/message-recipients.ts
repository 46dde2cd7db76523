import type { Message } from './message.ts';
import { type MessageFault, type MessageProblem, problem } from './message-problem.ts';
import { textFault } from './message-text.ts';
import { normaliseRecipient, type Recipient } from './recipient.ts';
import type { MessageChannel, MessageClass } from './state.ts';

/** Beyond this a text is not even searched for characters that cannot be stored. */
const MAX_RECIPIENT_UNITS = 1000;

export interface Recipients {
  readonly problems: readonly MessageProblem[];
  /** The good ones, in the order given. */
  readonly numbers: readonly { readonly recipient: string; readonly country: string | null }[];
}

/** Normalises everyone a message is for; a fault concerns only the recipient that has it. */
export function readRecipients(
  message: Message,
  channel: MessageChannel,
  defaultRegion: string | undefined,
): Recipients {
  const given = typeof message.to === 'string' ? [message.to] : message.to;
  if (given.length === 0 || message.to === '') return { problems: [problem('to', 'no_recipient')], numbers: [] };
  const problems: MessageProblem[] = [];
  const numbers: { recipient: string; country: string | null }[] = [];
  const seen = new Set<string>();
  for (const [position, text] of given.entries()) {
    const read = readOne(text, message.class, channel, defaultRegion);
    // Not collapsed in silence: the caller's list has a fault, and its count of messages would not be ours.
    const reason = read.ok ? (seen.has(read.number) ? 'duplicate_recipient' : undefined) : read.reason;
    if (reason !== undefined) {
      problems.push(problem(typeof message.to === 'string' ? 'to' : `to[${position}]`, reason, position));
    } else if (read.ok) {
      seen.add(read.number);
      numbers.push({ recipient: read.number, country: read.country });
    }
  }
  return { problems, numbers };
}

function readOne(
  text: string,
  messageClass: MessageClass,
  channel: MessageChannel,
  defaultRegion: string | undefined,
): Extract<Recipient, { ok: true }> | { readonly ok: false; readonly reason: MessageFault } {
  const fault = text.length > MAX_RECIPIENT_UNITS ? 'too_long' : textFault(text);
  if (fault !== undefined) return { ok: false, reason: fault };
  const recipient = normaliseRecipient(text, { defaultRegion });
  if (recipient.ok && recipient.kind === 'landline' && needsMobile(messageClass, channel)) {
    return { ok: false, reason: 'landline' };
  }
  return recipient;
}

/** Some landlines take a text (read aloud, or fixed-line SMS), so a transactional one is tried; a code or an ad is not. */
function needsMobile(messageClass: MessageClass, channel: MessageChannel): boolean {
  return channel === 'sms' && messageClass !== 'transactional';
}
