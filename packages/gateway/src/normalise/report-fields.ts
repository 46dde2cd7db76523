import type { JsonObject, JsonValue } from './parse-json.ts';

/**
 * The provider's names of the fields of a report record, blanks and capitals included, in the order of preference. One
 * call spells them one way, the next another. Mapped by name: case folding would also catch names nobody has seen.
 */
const REPORT_FIELDS = {
  transactionId: ['uuId', 'uuid', 'transactionId'],
  messageId: ['msgId'],
  mobile: ['mobileNo', 'mobile'],
  sender: ['senderName', 'senderid'],
  status: ['Status', 'status'],
  cause: ['Cause', 'cause'],
  submitted: ['Submitted Time', 'submitTime'],
  delivered: ['Delivered Time', 'deliveryTime'],
  length: ['length'],
  cost: ['cost'],
  messageType: ['msgType'],
} as const satisfies Record<string, readonly string[]>;

type ReportField = keyof typeof REPORT_FIELDS;

/** Every field name above. */
export const KNOWN_REPORT_NAMES: ReadonlySet<string> = new Set(Object.values(REPORT_FIELDS).flat());

/** The first of a field's spellings that holds text, untrimmed; undefined if none does. */
export function reportField(row: JsonObject, field: ReportField): string | undefined {
  for (const name of REPORT_FIELDS[field]) {
    const value: JsonValue | undefined = Object.hasOwn(row, name) ? row[name] : undefined;
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}
