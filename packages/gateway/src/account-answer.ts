/** What the provider says about the account itself. */
export type AccountAnswer =
  | {
      readonly kind: 'ok';
      /** Decimal text as reported, in the account's own unit; null where it was absent or unreadable. Never a float. */
      readonly balance: string | null;
      /** The balance is known, and is nothing or less. False where it is not known: that is no proof of money either. */
      readonly empty: boolean;
    }
  | {
      readonly kind: 'refused';
      /** The provider's code; null where its error carries none. */
      readonly code: string | null;
      /** The provider's words, bounded; credentials were taken out. */
      readonly detail: string;
    }
  | {
      readonly kind: 'unavailable';
      /** Why there is no answer; holds no credential. */
      readonly detail: string;
    };
