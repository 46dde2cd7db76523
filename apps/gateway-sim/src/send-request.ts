import { badBoolean, badParameter, INVALID_CREDENTIALS, type ProviderError, TEXT_MISMATCH } from './error-codes.ts';
import { canonicalMobile } from './mobile-numbers.ts';
import type { ProviderClock } from './provider-clock.ts';
import type { Parameters } from './request-parameters.ts';
import { countUnits } from './units.ts';

/** A recipient as it was written and, where it can be a number, with country code. */
export interface Recipient {
  written: string;
  canonical: string | null;
}

/** A send request that the provider would take. */
export interface SendRequest {
  recipients: Recipient[];
  text: string;
  msgType: 'text' | 'unicode';
  senderid: string;
  /** Segments of one copy. */
  units: number;
  /** When it is to go out, milliseconds since the epoch; null: at once. */
  scheduledAt: number | null;
  /** Answered like a send, but neither sent nor charged. */
  test: boolean;
}

/**
 * Checks a send request in the order of the provider's codes: credentials, booleans, parameters, text.
 * @param now milliseconds since the epoch; a schedule must lie after it.
 */
export function readSendRequest(
  parameters: Parameters,
  credentialsHold: boolean,
  clock: ProviderClock,
  now: number,
): SendRequest | ProviderError {
  if (!credentialsHold) return INVALID_CREDENTIALS;
  for (const name of ['duplicatecheck', 'testMessage']) {
    const value = parameters[name];
    if (value !== undefined && value !== 'true' && value !== 'false') return badBoolean(name);
  }
  if (parameters.sendMethod !== 'quick') return badParameter('sendMethod must be quick');
  const scheduledAt = parameters.scheduleTime === undefined ? null : clock.readDateTime(parameters.scheduleTime);
  if (parameters.scheduleTime !== undefined && (scheduledAt === null || scheduledAt <= now)) {
    return badParameter('scheduleTime must be YYYY-MM-DD HH:MM:SS to come');
  }
  const { mobile, msg, senderid, msgType } = parameters;
  if (!mobile) return badParameter('mobile is missing');
  if (!msg) return badParameter('msg is missing');
  if (!senderid) return badParameter('senderid is missing');
  if (msgType !== 'text' && msgType !== 'unicode') return badParameter('msgType must be text or unicode');
  if (msgType === 'text' && hasOtherThanAscii(msg)) return TEXT_MISMATCH;
  return {
    recipients: readRecipients(mobile, parameters.duplicatecheck !== 'false'),
    text: msg,
    msgType,
    senderid,
    units: countUnits(msg, msgType),
    scheduledAt,
    test: parameters.testMessage === 'true',
  };
}

function readRecipients(list: string, dropRepeats: boolean): Recipient[] {
  const recipients: Recipient[] = [];
  const seen = new Set<string>();
  for (const piece of list.split(',')) {
    const written = piece.trim();
    if (written === '') continue;
    const canonical = canonicalMobile(written);
    const key = canonical ?? written;
    if (dropRepeats && seen.has(key)) continue;
    seen.add(key);
    recipients.push({ written, canonical });
  }
  return recipients;
}

function hasOtherThanAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return true;
  return false;
}
