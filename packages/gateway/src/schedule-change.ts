/**
 * What became of the wish to cancel or to move a request that the provider holds for later. The set is closed, and its
 * default is `ambiguous`. None of the four is evidence of what became of the message: after `done` it may have gone out in
 * that very moment, and `refused` may follow a change that was made, e.g. when a cancellation of unknown end was asked for
 * again. Only the provider's list (`heldSchedules`) and its report are evidence.
 */
export type ScheduleChangeAnswer =
  | {
      /** A complete, well-formed success. */
      readonly kind: 'done';
      /** The reply as it may be stored: redacted, at most `RAW_REPLY_LIMIT_BYTES`. */
      readonly raw: Uint8Array;
    }
  | {
      /**
       * A complete, well-formed error with a code; or we refused the wish ourselves before anything was sent, and then
       * `statusCode` is null. Codes of these calls are not documented, "too late" included, so none is given a meaning.
       */
      readonly kind: 'refused';
      readonly statusCode: string | null;
      /** The provider's words, bounded and redacted, or ours. */
      readonly reason: string | null;
      /** `account`: the code is known to be about the account, e.g. its credentials, and says nothing of the schedule. */
      readonly scope: 'account' | null;
    }
  | {
      /** No byte of the request reached the provider. */
      readonly kind: 'not_sent';
      /** Phase and error code; holds no credential. */
      readonly detail: string;
    }
  | {
      readonly kind: 'ambiguous';
      /** Why nobody can tell; holds no credential. */
      readonly detail: string;
    };
