import { createHash } from 'node:crypto';
import { SendledgerError } from './errors.ts';

/** What makes two messages the same message. The channel is not here: a fallback to another channel is the same message. */
export interface BusinessKeyParts {
  readonly tenantId: string;
  readonly eventType: string;
  readonly eventId: string;
  /** E.164 digits without the plus, as `normaliseRecipient` returns them. */
  readonly recipient: string;
  readonly template?: string | undefined;
  readonly version?: string | undefined;
  /** Tells reminder 1 from reminder 2 of one event. */
  readonly step?: string | undefined;
  /** Tells one period from the next where an event repeats, e.g. a date. */
  readonly bucket?: string | undefined;
}

const PREFIX = 'sendledger.key.1';

/**
 * The identity of a business message: SHA-256 in lower-case hex. Every part is written with its length before it, so that
 * `a|b`,`c` and `a`,`b|c` differ, and an absent part (`-`) differs from an empty one (`0:`). The same encoding
 * is computed by the database; the number in the prefix changes if it ever does.
 *
 * Raises SENDLEDGER_KEY_NOT_TEXT for NUL or a lone surrogate: UTF-8 has no octets for the latter, and two different
 * strings would give one key.
 */
export function businessKey(parts: BusinessKeyParts): string {
  const hash = createHash('sha256').update(PREFIX, 'ascii');
  for (const part of [
    parts.tenantId,
    parts.eventType,
    parts.eventId,
    parts.recipient,
    parts.template,
    parts.version,
    parts.step,
    parts.bucket,
  ]) {
    hash.update(encode(part), 'utf8');
  }
  return hash.digest('hex');
}

function encode(part: string | undefined): string {
  if (part === undefined) return '-';
  if (!part.isWellFormed() || part.includes('\0')) {
    throw new SendledgerError('SENDLEDGER_KEY_NOT_TEXT', 'A part of a business key holds NUL or half a character.');
  }
  return `${Buffer.byteLength(part, 'utf8')}:${part}`;
}
