import { isPrivateName } from './private-names.ts';
import { KNOWN_REPORT_NAMES } from './report-fields.ts';

/**
 * The columns of a day report are not documented. Its rows are those of the other reports, so their names are taken in any case, with
 * or without blanks, and beside them the plain English ones that a portal would print over a column.
 */
const MORE_NAMES: Readonly<Record<string, string>> = {
  transid: 'transactionId',
  messageid: 'msgId',
  mobilenumber: 'mobileNo',
  number: 'mobileNo',
  recipient: 'mobileNo',
  senderid: 'senderName',
  sender: 'senderName',
  deliverystatus: 'Status',
  dlrstatus: 'Status',
  reason: 'Cause',
  submittime: 'Submitted Time',
  submittedtime: 'Submitted Time',
  submitteddate: 'Submitted Time',
  deliverytime: 'Delivered Time',
  deliveredtime: 'Delivered Time',
  deliverydate: 'Delivered Time',
  messagetype: 'msgType',
};

const NAMES: ReadonlyMap<string, string> = new Map([
  // The first spelling of a name stands for all of them.
  ...[...KNOWN_REPORT_NAMES].toReversed().map((name) => [folded(name), name] as const),
  ...Object.entries(MORE_NAMES),
]);

/** What a header line says of each column. */
export interface DayColumns {
  /** The report's name of each column; null: its value is not looked at. */
  readonly names: readonly (string | null)[];
  /** Columns that nobody has mapped and that are not private by their name. */
  readonly unmapped: readonly string[];
}

const NEEDED: readonly (readonly string[])[] = [['msgId', 'mobileNo', 'mobile'], ['Status']];

/**
 * Reads a header line; null if it is none: there must be a column that says whom a row is about, and one that says what became of it.
 * Two columns of one meaning are none either: nobody could say which of them counts.
 */
export function dayColumns(header: readonly string[]): DayColumns | null {
  const names = header.map((name) => NAMES.get(folded(name)) ?? null);
  const known = names.filter((name) => name !== null);
  if (new Set(known).size < known.length) return null;
  if (!NEEDED.every((oneOf) => oneOf.some((name) => known.includes(name)))) return null;
  const unmapped = header.filter(
    // A name, and not a value of a row without a header.
    (name, place) => names[place] === null && /^\s*[A-Za-z][A-Za-z _.-]{0,39}\s*$/.test(name) && !isPrivateName(name),
  );
  return { names, unmapped: unmapped.map((name) => name.trim()) };
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
