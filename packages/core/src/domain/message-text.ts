import type { MessageFault } from './message-problem.ts';
import type { MessageChannel } from './state.ts';

/** What stands for "no id" in the wild; the database's domain for foreign ids refuses the same. */
const SENTINELS: ReadonlySet<string> = new Set(['0', 'null', 'NULL', '-']);

/**
 * What JavaScript makes of a missing event id. Taken as an id, all messages of one type to one person would be one message
 * and every later one a "duplicate" that is never sent.
 */
const NOT_EVENT_IDS: ReadonlySet<string> = new Set(['undefined', 'NaN', '[object Object]']);

/** Octets of an id or a name in UTF-8. */
const MAX_ID_OCTETS = 200;

/** What keeps a text from being stored or sent at all. The caller bounds its length first. */
export function textFault(text: string): MessageFault | undefined {
  if (text.includes('\0')) return 'nul';
  return text.isWellFormed() ? undefined : 'lone_surrogate';
}

/** A name of ours or of the caller: bounded, not blank. */
export function nameFault(text: string): MessageFault | undefined {
  // An octet count is at least the unit count, so a megabyte is refused without being encoded.
  if (text.length > MAX_ID_OCTETS) return 'too_long';
  const fault = textFault(text);
  if (fault !== undefined) return fault;
  if (Buffer.byteLength(text, 'utf8') > MAX_ID_OCTETS) return 'too_long';
  return text.trim().length === 0 ? 'empty' : undefined;
}

/** An id that someone else issued: a name that is not a sentinel. Compared as text, leading zeros kept. */
export function foreignIdFault(text: string): MessageFault | undefined {
  return nameFault(text) ?? (SENTINELS.has(text) ? 'sentinel' : undefined);
}

export function eventIdFault(text: string): MessageFault | undefined {
  return foreignIdFault(text) ?? (NOT_EVENT_IDS.has(text) ? 'sentinel' : undefined);
}

/** A sender, where one is named: what can be shown to the recipient. */
export function senderFault(sender: string | undefined, channel: MessageChannel): MessageFault | undefined {
  if (sender === undefined) return undefined;
  return nameFault(sender) ?? (channel === 'sms' ? smsSenderFault(sender) : undefined);
}

/**
 * A sender on a phone network: an alphanumeric name of 1 to 11 characters (3GPP TS 23.040, 7-bit address) or digits up to 15
 * (E.164). Space, dot, dash and underscore are let through inside
 * a name.
 */
function smsSenderFault(sender: string): MessageFault | undefined {
  if (/^[0-9]{1,15}$/.test(sender)) return undefined;
  return /^(?=.{1,11}$)[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?$/.test(sender) ? undefined : 'sender_shape';
}
