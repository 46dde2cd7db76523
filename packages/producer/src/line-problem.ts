import type { CsvFault } from '@sendledger/core';
import { MESSAGE_FAULTS, type MessageFault } from '@sendledger/core';

/** Faults of a line as a line, beside those of the message on it. No sentence holds a value of the file. */
export const LINE_FAULTS = {
  not_utf8: 'The line is not UTF-8; save the file as UTF-8.',
  line_too_long: 'The line is longer than any message.',
  not_json: 'The line is not JSON; each line is one whole object.',
  not_an_object: 'The line is JSON, but no object.',
  quote_not_closed: 'A quote is opened here and never closed.',
  stray_quote: 'A quote stands where none may: quote the whole field and write a quote in it twice.',
  column_count: 'The line has another number of columns than the first line.',
  column_twice: 'The first line names this column twice.',
  column_nameless: 'The first line has a column without a name.',
  event_id_missing:
    'It is required: it makes reading the same file twice harmless. Take it from the business (an order, a payment); a line number is none, it changes with the file.',
  recipient_and_to: 'Give `recipient` or `to`, not both.',
  variable_without_template: 'It is no field of a message, and without a template it is no variable.',
} as const satisfies Record<CsvFault, string> & Record<string, string>;

export type LineFault = keyof typeof LINE_FAULTS | MessageFault;

export interface LineProblem {
  /** As the file calls it, e.g. `event_id`; `line` where the line cannot be read at all. */
  readonly field: string;
  readonly reason: LineFault;
  /** The reason as a sentence. */
  readonly message: string;
}

export function lineProblem(field: string, reason: LineFault): LineProblem {
  const sentences: Readonly<Record<LineFault, string>> = { ...MESSAGE_FAULTS, ...LINE_FAULTS };
  return { field, reason, message: sentences[reason] };
}
