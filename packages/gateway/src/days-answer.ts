/** Which part of the account's report is wanted. */
export interface DaysQuestion {
  /** `YYYY-MM-DD` in the provider's zone, inclusive. */
  readonly fromDay: string;
  /** `YYYY-MM-DD` in the provider's zone, inclusive. */
  readonly toDay: string;
  /** E.164 digits without the plus; null for everybody's. Only an unfiltered read can ever say that something is absent. */
  readonly recipient: string | null;
  /** IANA zone in which the provider writes its local times. */
  readonly zone: string;
}

export type DaysAnswer =
  | {
      readonly kind: 'read';
      /**
       * Everything the report holds for the question was read, as far as an answer can show it. False says nothing about
       * who is missing.
       */
      readonly complete: boolean;
      readonly pages: number;
      /** Records handed over. */
      readonly records: number;
      /** Rows that are no record at all. */
      readonly unreadableRows: number;
      /** The first reason found; null exactly where `complete`. */
      readonly incompleteBecause: string | null;
    }
  | {
      readonly kind: 'unavailable';
      /** Why there is no answer; holds no message text and no credential. Pages handed over before it are to be discarded. */
      readonly detail: string;
    };
