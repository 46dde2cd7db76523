import type { ProviderRecord } from './report-answer.ts';

/** Which day's report is wanted. */
export interface DayQuestion {
  /** `YYYY-MM-DD` in the provider's zone. */
  readonly day: string;
  /** IANA zone in which the provider writes its local times. */
  readonly zone: string;
}

/** Why a row of a day report is no record. */
export type BadRowReason =
  | 'row_too_long'
  | 'quote_not_closed'
  | 'stray_quote'
  /** More or fewer fields than its header names: nobody can say which field is the text. */
  | 'wrong_columns'
  /** It names neither a recipient nor a message. */
  | 'names_nobody'
  /** A file of the archive whose first line is no header that we know; the whole file is this one row. */
  | 'no_header';

export interface BadRow {
  /** Place of the file in the archive, from 1. */
  readonly file: number;
  /** Line it begins on, from 1. */
  readonly line: number;
  readonly reason: BadRowReason;
  /** What may be kept of it: the known fields without text; nothing where the fields cannot be told apart. */
  readonly evidence: Readonly<Record<string, string | null>>;
}

/** A part of a day, in the order of the report. */
export interface DayRows {
  readonly records: readonly ProviderRecord[];
  readonly bad: readonly BadRow[];
}

export interface DayReader {
  /** The whole answer is here and nothing of it was handed over yet. */
  onFetched(bytes: number): Promise<void> | void;
  /** At most `DAY_ROWS_AT_ONCE` rows. The next come when this has settled; what it throws comes out of the call. */
  onRows(rows: DayRows): Promise<void>;
}

/** Rows handed over at once: as many as the ledger stores in one transaction. */
export const DAY_ROWS_AT_ONCE = 500;

/**
 * The answer to a day's report. Only after `read` is what was handed over the whole day; after anything else nothing of the day
 * was handed over, since an archive is checked whole before its first row is.
 */
export type DayAnswer =
  | {
      readonly kind: 'read';
      /** Rows below the headers, bad ones included. */
      readonly rows: number;
      readonly records: number;
      readonly badRows: number;
      /** Bytes that came over the wire, and what they unpack to. */
      readonly bytes: number;
      readonly unpackedBytes: number;
      /** Names of columns that nobody has mapped; their values were dropped. */
      readonly unmappedColumns: readonly string[];
    }
  | {
      readonly kind: 'not_yet';
      /** The provider says: later. Null: not when. */
      readonly retryAfterMs: number | null;
      readonly detail: string;
    }
  | {
      readonly kind: 'refused';
      /** The provider's code; null where its error carries none. */
      readonly code: string | null;
      readonly detail: string;
    }
  | {
      /** It answered, and what it gave is broken, larger than a limit, or nothing that we know. */
      readonly kind: 'unreadable';
      readonly detail: string;
    }
  | {
      readonly kind: 'unavailable';
      /** Why there is no answer; holds no message text and no credential. */
      readonly detail: string;
    };

/** What a day report may be at most, so that a hostile or broken archive costs a bounded amount. */
export interface DayReportLimits {
  /** Bytes of the answer. Default 256 MB. */
  readonly maxBytes: number;
  /** Bytes that it unpacks to, all files together. Default 4 GB. */
  readonly maxUnpackedBytes: number;
  /** Unpacked bytes for each byte of the answer. Default 200. */
  readonly maxRatio: number;
  /** Files in the archive. Default 16. */
  readonly maxFiles: number;
  /** Characters of one row. Default 65 536. */
  readonly maxRowCharacters: number;
}

export const DEFAULT_DAY_REPORT_LIMITS: DayReportLimits = {
  maxBytes: 256 * 1024 * 1024,
  maxUnpackedBytes: 4 * 1024 * 1024 * 1024,
  maxRatio: 200,
  maxFiles: 16,
  maxRowCharacters: 65_536,
};
