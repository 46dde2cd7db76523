import type { RefusalScope } from '../outcome.ts';

/** The one code of success. */
export const SUCCESS_CODE = '200';

/**
 * Refusal codes that are known. The provider's full list is not published, so a code that is not here is not a refusal
 * we may act upon: the row waits for evidence until a person has mapped the code.
 */
const REFUSALS: ReadonlyMap<string, RefusalScope> = new Map([
  // Invalid credentials; also a misspelt `userid`, or a key without it. Nothing of this account will pass.
  ['216', 'account'],
  // A boolean parameter that is neither "true" nor "false": our mistake, the same next time.
  ['147', 'permanent'],
  // A character beyond ASCII under `msgType=text`.
  ['171', 'permanent'],
  // The user id is missing from the request: our mistake.
  ['213', 'permanent'],
]);

/** Codes that people have mapped since, on top of the known ones. */
export type ExtraCodes = Readonly<Record<string, RefusalScope>>;

/**
 * What a refusal code means; null where nobody knows. Use it too for judging an `ambiguous` outcome with an
 * `unmappedCode` again, once that code has been mapped.
 */
export function refusalScopeOf(code: string, extra: ExtraCodes = {}): RefusalScope | null {
  const mapped = Object.hasOwn(extra, code) ? extra[code] : undefined;
  return mapped ?? REFUSALS.get(code) ?? null;
}
