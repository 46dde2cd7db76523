import {
  type CountryCode,
  isSupportedCountry,
  type NumberType,
  ParseError,
  type PhoneNumber,
  parsePhoneNumberWithError,
  validatePhoneNumberLength,
} from 'libphonenumber-js/max';
import { readPlainMobile } from './plain-mobile.ts';

/** Why a recipient is not a number that can be written to. Stable: callers branch on it. */
export type RecipientFault =
  | 'empty'
  | 'not_a_number'
  | 'extension'
  | 'doubled_country_code'
  | 'too_short'
  | 'too_long'
  | 'invalid'
  | 'no_region';

/** What the numbering plan says of the number; `either` where a plan does not tell (US, Canada). */
export type RecipientKind = 'mobile' | 'landline' | 'either' | 'other';

export type Recipient =
  | {
      readonly ok: true;
      /** E.164 digits without the plus: the form in the ledger, in the business key and towards providers. */
      readonly number: string;
      /** ISO 3166 alpha-2; null for numbers of no country (+800, +870). */
      readonly country: string | null;
      readonly kind: RecipientKind;
    }
  | { readonly ok: false; readonly reason: RecipientFault };

export interface RecipientOptions {
  /** ISO 3166 alpha-2, either case: the country whose dialling rules a number without a country code is read by. */
  readonly defaultRegion?: string | undefined;
}

/** The longest text looked at. The longest written form of a 15-digit number is far below; a megabyte is not parsed. */
const MAX_INPUT = 100;

/**
 * Reads a phone number as people write it (spaces, brackets, any Unicode decimal digits) and returns the one form this
 * system keeps. It never digs a number out of a sentence. Nothing is raised; what cannot be read is a fault.
 *
 * A number without a plus is read, in this order, as a number of the default region, then as E.164 digits without
 * the plus, which is our own form. So feeding a result back gives the same result, with one exception that
 * cannot be settled: a foreign number's bare digits may also be a valid number of the default region
 * (Singapore's 65… in India). Put the plus before a stored number to read it again, and it is exact for every region.
 */
export function normaliseRecipient(input: string, options: RecipientOptions): Recipient {
  const text = input.length > MAX_INPUT ? input.slice(0, MAX_INPUT + 1) : input.trim().replace(/^＋/, '+');
  if (text.length === 0) return refuse('empty');
  if (text.length > MAX_INPUT) return refuse('too_long');
  if (text.startsWith('+')) return read(text, undefined);

  const region = supportedRegion(options.defaultRegion);
  const national = region === undefined ? refuse('no_region') : read(text, region);

  const digits = onlyAsciiDigits(text);
  // The dialling prefix 00 is not every region's (Kenya 000, Australia 0011), but no E.164 number begins with a zero and no
  // national number there with two, so a number that is valid behind it can mean nothing else.
  const international = read(`+${digits?.replace(/^00/, '') ?? text}`, undefined);
  if (international.ok) return national.ok && !beginsTwice(national.number, digits) ? national : international;
  // Without a region, what is no number in any country ("call me") is named as that, and not as lacking a region.
  const nowhere = international.reason === 'not_a_number' || international.reason === 'extension';
  return region === undefined && nowhere ? international : national;
}

/**
 * True when the national reading put the country code before digits that begin with it already. Where national numbers
 * vary in length (Germany) a stored `49151…` is also a possible landline `0491 51…`, of a length nobody has.
 */
function beginsTwice(number: string, digits: string | undefined): boolean {
  if (digits === undefined || !number.endsWith(digits)) return false;
  const code = number.slice(0, number.length - digits.length);
  return code.length > 0 && digits.startsWith(code);
}

function read(text: string, region: CountryCode | undefined): Recipient {
  const mobile = readPlainMobile(text);
  if (mobile !== undefined) return { ok: true, ...mobile, kind: 'mobile' };
  return readWithLibrary(text, region);
}

/** What {@link normaliseRecipient} makes of a text that begins with a plus, by the library alone: the measure of the short way. */
export function readWithLibrary(text: string, region: CountryCode | undefined): Recipient {
  let parsed: PhoneNumber;
  try {
    parsed = parsePhoneNumberWithError(
      text,
      region === undefined ? { extract: false } : { defaultCountry: region, extract: false },
    );
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return refuse(parseFault(error.message));
  }
  if (parsed.ext !== undefined) return refuse('extension');
  // The type is what validity is judged by, and half of the cost: asked once.
  const type = parsed.getType();
  const valid = type !== undefined || parsed.isValid();
  const kind = valid ? kindOf(type) : undefined;
  if (kind !== 'mobile' && kind !== 'either' && isDoubled(parsed, valid)) return refuse('doubled_country_code');
  if (kind === undefined) return refuse(lengthFault(text, region));
  return { ok: true, number: parsed.number.slice(1), country: parsed.country ?? null, kind };
}

/**
 * A country code written twice or more (`+91 91 98765 43210`): refused by name, since it comes from joining a prefix to a
 * number that had one, and mending it here would hide that from the next system. A mobile number that happens to begin
 * with its country code (`+91 91919 19191`) is valid and never gets here; a "landline" that is a mobile number once
 * a code is taken away is the doubling, in plans that set no length.
 */
function isDoubled(parsed: PhoneNumber, valid: boolean): boolean {
  const code = parsed.countryCallingCode;
  let rest: string = parsed.nationalNumber;
  while (rest.startsWith(code)) {
    const once = parseStrictly(`+${rest}`);
    if (once?.isValid() === true && (!valid || once.getType() === 'MOBILE')) return true;
    rest = rest.slice(code.length);
  }
  return false;
}

function parseStrictly(text: string): PhoneNumber | undefined {
  try {
    return parsePhoneNumberWithError(text, { extract: false });
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function kindOf(type: NumberType): RecipientKind {
  switch (type) {
    case 'MOBILE':
      return 'mobile';
    case 'FIXED_LINE':
      return 'landline';
    case 'FIXED_LINE_OR_MOBILE':
      return 'either';
    default:
      return 'other';
  }
}

function parseFault(code: string): RecipientFault {
  switch (code) {
    case 'TOO_SHORT':
      return 'too_short';
    case 'TOO_LONG':
      return 'too_long';
    case 'INVALID_COUNTRY':
      return 'invalid';
    default:
      return 'not_a_number';
  }
}

function lengthFault(text: string, region: CountryCode | undefined): RecipientFault {
  const fault = region === undefined ? validatePhoneNumberLength(text) : validatePhoneNumberLength(text, region);
  if (fault === 'TOO_SHORT') return 'too_short';
  if (fault === 'TOO_LONG') return 'too_long';
  return 'invalid';
}

function supportedRegion(region: string | undefined): CountryCode | undefined {
  const upper = region?.toUpperCase();
  return upper !== undefined && isSupportedCountry(upper) ? upper : undefined;
}

/** The digits of a text that holds nothing but digits and the separators people write, else undefined. */
function onlyAsciiDigits(text: string): string | undefined {
  const digits = text.replace(/[\s().\-/]/g, '');
  return /^[0-9]+$/.test(digits) ? digits : undefined;
}

function refuse(reason: RecipientFault): Recipient {
  return { ok: false, reason };
}
