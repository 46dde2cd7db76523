/** As long as a number with its country code may be, and not a piece of something longer. */
const NUMBER = /(?<!\d)\d{10,15}(?!\d)/g;
/** Digits of a number that still name it when the country code is left off. */
const NATIONAL_DIGITS = 10;
/** Shorter forms would hide half of the page. */
const SHORTEST_FORM = 6;
/** Ids are needed to decide by, and some are as long as a number. */
const IS_ID = /(^|_)(id|ids|code|owner|first|second|successor|messages|submission|transaction)$/i;

/** `919999999999` → `9199******99`: enough to recognise a number one knows, not enough to call it. */
export function maskNumber(number: string): string {
  return number.length <= SHORTEST_FORM ? '***' : `${number.slice(0, 4)}******${number.slice(-2)}`;
}

/** Whatever may be a number with its country code. Ids of ten to fifteen digits go with it. */
export function maskNumbers(text: string): string {
  return text.replace(NUMBER, maskNumber);
}

/** These numbers, with and without country code, whatever stands between their digits: `+91 98765-43210` too. */
export function maskKnown(text: string, known: readonly string[]): string {
  return known
    .flatMap((number) => [number, number.slice(-NATIONAL_DIGITS)])
    .filter((form) => form.length > SHORTEST_FORM)
    .reduce((hidden, form) => hidden.replace(spread(form), maskNumber(form)), text);
}

const SPREADS = new Map<string, RegExp>();
const MOST_SPREADS = 200;

function spread(form: string): RegExp {
  const known = SPREADS.get(form);
  if (known !== undefined) return known;
  // A recipient need not be a number; what is none is taken as it is written.
  const made = /^\d+$/.test(form)
    ? new RegExp([...form].join('[ ().\\-]{0,3}'), 'g')
    : new RegExp(form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'g');
  if (SPREADS.size >= MOST_SPREADS) SPREADS.clear();
  SPREADS.set(form, made);
  return made;
}

/** The same evidence without numbers: the known ones wherever they stand, others where no id is expected. */
export function maskEvidence(value: unknown, known: readonly string[], name = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => maskEvidence(one, known, name));
  if (value instanceof Date) return value;
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [maskKnown(key, known), maskEvidence(one, known, key)]),
    );
  if (typeof value === 'number' && !IS_ID.test(name))
    return String(value).match(NUMBER) ? maskNumbers(String(value)) : value;
  if (typeof value !== 'string') return value;
  const hidden = maskKnown(value, known);
  return IS_ID.test(name) ? hidden : maskNumbers(hidden);
}
