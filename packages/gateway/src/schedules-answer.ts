/**
 * What a provider's word for a schedule means: it waits for its time, it was taken back, it went out. `unknown`: a word
 * that nobody has mapped, or none.
 */
export type ScheduleState = 'waiting' | 'cancelled' | 'sent' | 'unknown';

/** One request that the provider holds for later. */
export interface HeldSchedule {
  readonly providerTxnId: string;
  /** Null: the provider names no time, or one that cannot be read. */
  readonly scheduledFor: Date | null;
  /** When the provider took it; null as for `scheduledFor`. */
  readonly createdAt: Date | null;
  /** When it was last changed; null: never, or as for `scheduledFor`. */
  readonly updatedAt: Date | null;
  /** The provider's word, trimmed and otherwise verbatim. */
  readonly statusWord: string | null;
  /** The meaning of that word, where the provider documents none a guess that configuration can correct. */
  readonly state: ScheduleState;
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
