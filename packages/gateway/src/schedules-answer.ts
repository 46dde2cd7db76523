/** One request that the provider holds for later. */
export interface HeldSchedule {
  readonly providerTxnId: string;
  /** Null: the provider names no time, or one that cannot be read. */
  readonly scheduledFor: Date | null;
  /** The provider's word, trimmed and otherwise verbatim. */
  readonly statusWord: string | null;
  /** Messages in it, by the provider's count. */
  readonly total: number | null;
}

export type SchedulesAnswer =
  | {
      readonly kind: 'schedules';
      readonly schedules: readonly HeldSchedule[];
      /** Elements without a transaction id. Where there are any, nothing can be said to be absent. */
      readonly unreadableRows: number;
    }
  | {
      readonly kind: 'unavailable';
      /** Why there is no answer; holds no credential. */
      readonly detail: string;
    };
