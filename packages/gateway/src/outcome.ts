/** What can prove that no byte of a request reached the provider. There is no fifth proof: everything else is ambiguous. */
export const NOT_SENT_PROOFS = ['no_name', 'no_connection', 'no_tls', 'send_budget'] as const;
export type NotSentProof = (typeof NOT_SENT_PROOFS)[number];

/**
 * How far a definite refusal reaches. `permanent`: this content or these recipients, for good. `temporary`: worth
 * another try. `account`: nothing of this account will pass until a person acts. `throttled`: too fast, pause the route.
 */
export const REFUSAL_SCOPES = ['permanent', 'temporary', 'account', 'throttled'] as const;
export type RefusalScope = (typeof REFUSAL_SCOPES)[number];

/** How many bytes of a reply are kept as evidence. */
export const RAW_REPLY_LIMIT_BYTES = 16 * 1024;

/** What came back, as evidence to be stored with the submission. */
export interface Reply {
  /** Null: no response line was read. */
  readonly httpStatus: number | null;
  /** UTF-8, at most `RAW_REPLY_LIMIT_BYTES`; message text and credentials were taken out before it got here. */
  readonly raw: Uint8Array | null;
  /** The provider's own code, as text whether it was quoted or not. */
  readonly statusCode: string | null;
  /** The provider's words, bounded and redacted. */
  readonly reason: string | null;
}

export const NO_REPLY: Reply = { httpStatus: null, raw: null, statusCode: null, reason: null };

export interface Accepted {
  readonly kind: 'accepted';
  /** One per request, shared by its recipients. Null: accepted without an identifier. */
  readonly providerTxnId: string | null;
  /** Numbers of ours, spelt as we sent them, that the provider refused inside its success. */
  readonly rejected: readonly string[];
  /** Numbers of ours that the reply does not account for; their fate is unknown. */
  readonly unaccounted: readonly string[];
  /** Refused numbers that match none of ours, as they came (bounded). An alarm, never an error. */
  readonly strangers: readonly string[];
  readonly reply: Reply;
}

export interface Refused {
  readonly kind: 'refused';
  readonly scope: RefusalScope;
  /** Milliseconds, from `Retry-After`; null where it was absent or unreadable. */
  readonly retryAfterMs: number | null;
  readonly reply: Reply;
}

export interface NotSent {
  readonly kind: 'not_sent';
  readonly proof: NotSentProof;
  /** Phase and error code; holds no message text and no credential. */
  readonly detail: string;
  readonly reply: Reply;
}

export interface Ambiguous {
  readonly kind: 'ambiguous';
  /** Why nobody can tell; holds no message text and no credential. */
  readonly detail: string;
  /** The code of a well-formed refusal that the code table does not know yet; such a row can be judged again. */
  readonly unmappedCode: string | null;
  /**
   * A transaction that the reply names although it is no success; there the provider can be asked what became of the
   * request. Evidence of where to look, never of acceptance.
   */
  readonly providerTxnId?: string | null;
  readonly reply: Reply;
}

/**
 * What became of one provider request. The set is closed, and its default is `ambiguous`: a message that may have been
 * sent is never called unsent because nobody had thought of a case.
 */
export type Outcome = Accepted | Refused | NotSent | Ambiguous;

export function ambiguous(
  detail: string,
  reply: Reply = NO_REPLY,
  unmappedCode: string | null = null,
  providerTxnId: string | null = null,
): Ambiguous {
  return { kind: 'ambiguous', detail, unmappedCode, providerTxnId, reply };
}

export function notSent(proof: NotSentProof, detail: string): NotSent {
  return { kind: 'not_sent', proof, detail, reply: NO_REPLY };
}

/**
 * A request that we ourselves refuse to build: it would fail at the provider or be billed wrongly. It is `refused` for
 * good, by us, so every field of the reply but the reason is null.
 */
export function unbuildable(reason: string): Refused {
  return { kind: 'refused', scope: 'permanent', retryAfterMs: null, reply: { ...NO_REPLY, reason } };
}
