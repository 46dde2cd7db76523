import { type CountryCode, getCountries, getCountryCallingCode, Metadata } from 'libphonenumber-js/max';

/** A number of whose kind there is no doubt. */
export interface PlainMobile {
  /** E.164 digits without the plus. */
  readonly number: string;
  /** ISO 3166 alpha-2. */
  readonly country: string;
}

/** What the library's metadata holds; its type declarations name the lengths only. */
interface Plan {
  nationalNumberPattern(): string;
  nationalPrefixForParsing(): string | undefined;
  type(
    name: 'FIXED_LINE' | 'MOBILE',
  ): { pattern(): string; possibleLengths(): readonly number[] | undefined } | undefined;
}

interface Rules {
  readonly country: CountryCode;
  readonly codeLength: number;
  readonly prefix: RegExp | null;
  readonly general: RegExp;
  readonly fixed: RegExp | null;
  readonly mobile: RegExp;
  readonly mobileLengths: readonly number[] | undefined;
}

/** By calling code; null where several countries share it, or mobile numbers cannot be told from others. */
const rules = new Map<string, Rules | null>();
let countriesOf: Map<string, CountryCode[]> | undefined;

/**
 * Reads `+` and the digits of a mobile number of a calling code that one country has to itself: nearly every message of nearly
 * everybody. The library makes its regular expressions anew for each number it reads, which was half of what a message costs
 * before it gets to the database; these are the same expressions, made once. Undefined says nothing: the library is asked.
 */
export function readPlainMobile(text: string): PlainMobile | undefined {
  if (!/^\+[1-9][0-9]{6,14}$/.test(text)) return undefined;
  const found = rulesFor(text);
  if (found === undefined) return undefined;
  const national = text.slice(1 + found.codeLength);
  // What may be a prefix of the country's own network is the library's to judge.
  if (found.prefix?.test(national) === true || !found.general.test(national)) return undefined;
  if (found.mobileLengths?.includes(national.length) === false || !found.mobile.test(national)) return undefined;
  if (found.fixed?.test(national) === true) return undefined;
  return { number: text.slice(1), country: found.country };
}

/** No calling code is the beginning of another. */
function rulesFor(text: string): Rules | undefined {
  for (let length = 1; length <= 3; length++) {
    const code = text.slice(1, 1 + length);
    const known = rules.get(code);
    if (known !== undefined) return known ?? undefined;
    const countries = countriesWith(code);
    if (countries === undefined) continue;
    const [only, ...others] = countries;
    const made = only === undefined || others.length > 0 ? null : rulesOf(only, length);
    rules.set(code, made);
    return made ?? undefined;
  }
  return undefined;
}

function countriesWith(code: string): readonly CountryCode[] | undefined {
  countriesOf ??= Map.groupBy(getCountries(), (country) => getCountryCallingCode(country) as string);
  return countriesOf.get(code);
}

function rulesOf(country: CountryCode, codeLength: number): Rules | null {
  const metadata = new Metadata();
  metadata.selectNumberingPlan(country);
  const plan = metadata.numberingPlan as unknown as Plan | undefined;
  const mobile = plan?.type('MOBILE');
  if (plan === undefined || mobile === undefined || mobile.pattern() === '') return null;
  const prefix = plan.nationalPrefixForParsing();
  const fixed = plan.type('FIXED_LINE')?.pattern();
  return {
    country,
    codeLength,
    prefix: prefix === undefined || prefix === '' ? null : new RegExp(`^(?:${prefix})`),
    general: entirely(plan.nationalNumberPattern()),
    fixed: fixed === undefined || fixed === '' ? null : entirely(fixed),
    mobile: entirely(mobile.pattern()),
    mobileLengths: mobile.possibleLengths(),
  };
}

const entirely = (pattern: string) => new RegExp(`^(?:${pattern})$`);
