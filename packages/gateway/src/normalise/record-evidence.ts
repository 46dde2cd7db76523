import { cleanText } from './clean-text.ts';
import type { JsonObject, JsonValue } from './parse-json.ts';
import { isPrivateName } from './private-names.ts';
import { KNOWN_REPORT_NAMES } from './report-fields.ts';

const LONGEST_VALUE = 500;
const LONGEST_UNKNOWN_VALUE = 64;
const LONGEST_NAME = 64;
const MOST_FIELDS = 64;

/** Stands for a value of an unknown field that could be a message's text. */
const WITHHELD = '[withheld]';

/**
 * The fields of a report record as text. Reports carry the message's text, and texts carry codes, so the fields of that
 * name are dropped whatever the class. A field nobody has mapped keeps its value only if it looks like a token (short,
 * no blanks): it might be a text under a name we have not seen. Nested values are withheld for the same reason. `isKnown`
 * says which names are mapped, by default those of a report.
 */
export function recordEvidence(
  row: JsonObject,
  isKnown: (name: string) => boolean = (name) => KNOWN_REPORT_NAMES.has(name),
): Record<string, string | null> {
  const evidence: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(row).slice(0, MOST_FIELDS)) {
    const key = cleanText(name, LONGEST_NAME);
    if (key === null || key === '__proto__' || isPrivateName(key)) continue;
    evidence[key] = evidenceValue(value, isKnown(key));
  }
  return evidence;
}

function evidenceValue(value: JsonValue | undefined, known: boolean): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return WITHHELD;
  const text = cleanText(value, LONGEST_VALUE) ?? '';
  if (known) return text;
  return text.length > LONGEST_UNKNOWN_VALUE || /\s/.test(text) ? WITHHELD : text;
}
