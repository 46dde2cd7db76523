import { cleanText } from './clean-text.ts';
import { asObject, type JsonObject, type JsonValue } from './parse-json.ts';

/**
 * What a reply says about the call itself; about a delivery it says nothing. `contradiction`: the two levels disagree.
 * `unstated`: a status word that is neither success nor error.
 */
type Verdict = 'success' | 'error' | 'contradiction' | 'unstated';

export interface Envelope {
  readonly verdict: Verdict;
  /** Text, quoted or not. Null: none was given, or two that differ. */
  readonly code: string | null;
  /** The provider's words, bounded but not redacted. */
  readonly reason: string | null;
  /** The outer object. */
  readonly flat: JsonObject;
  /** The object below `response`; null in the flat family. */
  readonly nested: JsonObject | null;
}

/**
 * Reads a reply of either family: flat (`status`, `statusCode`, `reason`) or nested below `response` (`status`, `code`,
 * `msg`). `status` is looked for at both levels, trimmed and in any case, because an error of a nested call may arrive
 * flat. Null: no status word at either level, so this is no reply of this provider.
 */
export function readEnvelope(value: JsonValue | undefined): Envelope | null {
  const flat = asObject(value);
  if (flat === null) return null;
  const nested = asObject(flat.response);
  const words = [flat.status, nested?.status].filter((word) => typeof word === 'string');
  if (words.length === 0) return null;
  const codes = new Set(
    [flat.statusCode, flat.code, nested?.statusCode, nested?.code].flatMap((code) => cleanText(code, 64) ?? []),
  );
  const [code] = codes;
  return {
    verdict: codes.size > 1 ? 'contradiction' : verdictOf(words),
    code: codes.size === 1 && code !== undefined ? code : null,
    reason: cleanText(flat.reason, 500) ?? cleanText(nested?.reason, 500) ?? cleanText(nested?.msg, 500),
    flat,
    nested,
  };
}

function verdictOf(words: readonly string[]): Verdict {
  const said = new Set(words.map((word) => word.trim().toLowerCase()));
  if (said.size > 1) return 'contradiction';
  if (said.has('success')) return 'success';
  return said.has('error') ? 'error' : 'unstated';
}
