import type { ProviderRecord } from './report-answer.ts';

/** A request that somebody made to us, perhaps the provider. */
export interface PushRequest {
  /** The header as it came; a claim, and the content decides. */
  readonly contentType: string | null;
  readonly query: URLSearchParams;
  /** As it came, at most as long as the caller allowed. */
  readonly body: Uint8Array;
}

/** How many records of one push are read; the rest is left to the poll that the push wakes. */
export const PUSH_RECORD_LIMIT = 1_000;

export type PushAnswer =
  | {
      readonly kind: 'records';
      /** At least one, at most `PUSH_RECORD_LIMIT`. Unless the provider's pushes are `trusted`, each is only a hint. */
      readonly records: readonly ProviderRecord[];
    }
  | {
      readonly kind: 'unreadable';
      /** Why; holds nothing of the push itself. */
      readonly detail: string;
    };
