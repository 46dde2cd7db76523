/**
 * How many parts a text is billed as: an estimate from the published tables, made once when the message is written. The
 * provider's own count is the record; a difference is a finding, not a reason to count again.
 *
 * Source of the rules: GSM 03.38 (3GPP TS 23.038) for the alphabet, 3GPP TS 23.040 for the six octets that a concatenation
 * header takes: 160 septets alone, 153 in a part; 70 UTF-16 units alone, 67 in a part. National shift tables are left
 * out: no provider here declares them.
 */
export type Encoding = 'GSM7' | 'UCS2';

/**
 * Which texts a provider sends in GSM-7. `gsm7`: whatever the GSM alphabet holds. `ascii`: only what is also ASCII, so
 * that an accented letter makes the whole message UCS-2 (SMSGatewayCenter refuses `é` as `text`, code 171).
 */
export type EncodingRule = 'gsm7' | 'ascii';

export interface SegmentCount {
  readonly encoding: Encoding;
  /** Septets for GSM7 (an extension character is two), UTF-16 code units for UCS2. */
  readonly units: number;
  /** Parts billed. 0 only for the empty text. */
  readonly segments: number;
  /** The first character that forced UCS2, whole even above U+FFFF; null when the text stayed GSM7. */
  readonly firstOutside: string | null;
}

const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const EXTENSION = '\f^{}\\[~]|€';

/** Septets by UTF-16 unit; 0 is "not in the alphabet". Every GSM character is below U+20AD and none is a surrogate. */
const SEPTETS = new Uint8Array(0x20ad);
for (const character of BASIC) SEPTETS[character.charCodeAt(0)] = 1;
for (const character of EXTENSION) SEPTETS[character.charCodeAt(0)] = 2;

const GSM_ALONE = 160;
const GSM_PART = 153;
const UCS2_ALONE = 70;
const UCS2_PART = 67;

/**
 * Counts the parts of a rendered text. Neither an extension character nor a surrogate pair is split over the edge of a
 * part: it moves to the next part whole, so a part may end one unit short. A lone surrogate counts as one UCS-2 unit; CRLF
 * is two septets.
 */
export function countSegments(text: string, rule: EncodingRule): SegmentCount {
  let units = 0;
  let full = 0;
  let inPart = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // ASCII that GSM-7 lacks (backtick, tab) has no septet to travel in: it is UCS-2 under either rule.
    const septets = rule === 'ascii' && code > 0x7f ? 0 : (SEPTETS[code] ?? 0);
    if (septets === 0) return countUcs2(text, i);
    units += septets;
    if (inPart + septets > GSM_PART) {
      full += 1;
      inPart = 0;
    }
    inPart += septets;
  }
  return { encoding: 'GSM7', units, segments: parts(units, GSM_ALONE, full, inPart), firstOutside: null };
}

function countUcs2(text: string, outsideAt: number): SegmentCount {
  const units = text.length;
  let full = 0;
  let inPart = 0;
  for (let i = 0; i < units; ) {
    const size = (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
    if (inPart + size > UCS2_PART) {
      full += 1;
      inPart = 0;
    }
    inPart += size;
    i += size;
  }
  return {
    encoding: 'UCS2',
    units,
    segments: parts(units, UCS2_ALONE, full, inPart),
    firstOutside: String.fromCodePoint(text.codePointAt(outsideAt) ?? 0),
  };
}

function parts(units: number, alone: number, full: number, inPart: number): number {
  if (units <= alone) return units === 0 ? 0 : 1;
  return full + (inPart > 0 ? 1 : 0);
}
