/** What a provider's delivery word means for a row. `unmapped` leaves the row as it is and raises an alarm. */
export type RecordStatus = 'open' | 'delivered' | 'failed' | 'unmapped';

/** One record of a provider's report: one recipient of one request. */
export interface ProviderRecord {
  readonly providerTxnId: string | null;
  /** One per recipient; null until the provider has given one. */
  readonly providerMessageId: string | null;
  /** Digits with country code, no plus; null where the record names no readable number. */
  readonly recipient: string | null;
  readonly senderId: string | null;
  /** The provider's word, trimmed and otherwise verbatim. */
  readonly statusWord: string | null;
  readonly status: RecordStatus;
  /** The provider's cause, trimmed and otherwise verbatim. */
  readonly cause: string | null;
  /** Our class of the cause, snake_case; `unknown` where nobody mapped it, `none` where none was given. */
  readonly causeClass: string;
  readonly submittedAt: Date | null;
  /** As reported. It also appears on failures, so it never decides the status. */
  readonly deliveredAt: Date | null;
  /** The record's fields as text, by the provider's names. Message text and credentials are dropped. */
  readonly evidence: Readonly<Record<string, string | null>>;
}

export interface ReportRecords {
  readonly kind: 'records';
  /** Records of the transaction that was asked for. */
  readonly records: readonly ProviderRecord[];
  /** Rows in the list, unreadable and foreign ones included. */
  readonly rowCount: number;
  /** The provider's own count, where it gave one. */
  readonly declaredCount: number | null;
  /** Rows that are no record at all. */
  readonly unreadableRows: number;
  /** Rows of a transaction that was not asked for. An alarm; they are not in `records`. */
  readonly foreignRows: number;
  /**
   * As many different recipients as expected are present. Paging of this report is not documented, so anything less
   * says nothing about who is missing. An empty list never proves absence.
   */
  readonly coversAll: boolean;
}

export interface ReportUnavailable {
  readonly kind: 'unavailable';
  /** Why there is no answer; holds no message text and no credential. */
  readonly detail: string;
}

export type ReportAnswer = ReportRecords | ReportUnavailable;
