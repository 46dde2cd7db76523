import type { DayAnswer } from '../day-report.ts';
import { readEnvelope } from '../normalise/envelope.ts';
import { asList, asObject, type JsonValue, parseJson } from '../normalise/parse-json.ts';
import { type ExtraCodes, refusalScopeOf, SUCCESS_CODE } from './codes.ts';

export type DayVerdict = Exclude<DayAnswer, { kind: 'read' }> | { readonly kind: 'link'; readonly url: URL };

/**
 * Judges a day's answer that is no archive. Whether the provider gives the archive itself or says where it lies is not documented. A
 * place is followed only at the origin that was asked: the answer is data, and data must not send us elsewhere.
 */
export function judgeDayAnswer(text: string, baseUrl: string, extraCodes: ExtraCodes): DayVerdict {
  const envelope = readEnvelope(parseJson(text));
  if (envelope === null) return { kind: 'unreadable', detail: "neither a zip nor a reply of the provider's own form" };
  const { code, verdict } = envelope;
  if (verdict === 'error' && code !== null) return refusal(code, extraCodes);
  if (verdict !== 'success' || (code !== null && code !== SUCCESS_CODE))
    return { kind: 'unavailable', detail: `the read ended in ${verdict}${codeOf(code)}` };
  const links = new Set(linksIn(envelope.nested ?? envelope.flat));
  const [link] = links;
  if (link === undefined) return { kind: 'unavailable', detail: 'a success without a zip and without a link' };
  if (links.size > 1) return { kind: 'unavailable', detail: 'a success with more than one link' };
  const url = URL.parse(link, `${baseUrl}/`);
  if (url === null || url.origin !== new URL(baseUrl).origin || url.username !== '' || url.password !== '')
    return { kind: 'unavailable', detail: 'the report lies at another origin than the one that was asked' };
  return { kind: 'link', url };
}

/** A code that nobody has mapped is a refusal as well: nothing was given, and nothing depends on the difference. */
function refusal(code: string, extraCodes: ExtraCodes): DayVerdict {
  const scope = refusalScopeOf(code, extraCodes);
  if (scope === 'temporary' || scope === 'throttled')
    return { kind: 'not_yet', retryAfterMs: null, detail: `the provider says: not now${codeOf(code)}` };
  return {
    kind: 'refused',
    code,
    detail: `the provider refuses the report${codeOf(code)}${scope === null ? ', which nobody has mapped' : ''}`,
  };
}

/** Codes are digits as far as they are known; other text is not repeated. */
function codeOf(code: string | null): string {
  return code !== null && /^\d{1,10}$/.test(code) ? ` with code ${code}` : '';
}

const NAMES_A_PLACE = /url|link|file|path|download|zip/i;
const DEEPEST = 4;

function linksIn(value: JsonValue | undefined, name = '', depth = 0): string[] {
  if (depth > DEEPEST) return [];
  if (typeof value === 'string') {
    const text = value.trim();
    const absolute = /^https?:\/\//i.test(text);
    return absolute || (NAMES_A_PLACE.test(name) && text.startsWith('/')) ? [text] : [];
  }
  const list = asList(value);
  if (list !== null) return list.flatMap((one) => linksIn(one, name, depth + 1));
  return Object.entries(asObject(value) ?? {}).flatMap(([key, one]) => linksIn(one, key, depth + 1));
}
