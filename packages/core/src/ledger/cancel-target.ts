import type { MessageClass } from '../domain/state.ts';

/**
 * What is cancelled. All but `message` cover messages that are made later too: a key, an event and a campaign for ever, a
 * campaign or a tenant up to `coversUntil`. A replay or a fallback made afterwards is a decision of its own, and not covered.
 */
export type CancelTarget =
  | { readonly kind: 'message'; readonly messageId: string }
  | { readonly kind: 'key'; readonly businessKey: string }
  | { readonly kind: 'event'; readonly eventType: string; readonly eventId: string }
  | {
      readonly kind: 'campaign';
      readonly campaignId: string;
      /** Messages made after it are not covered. Default: every one is. */
      readonly coversUntil?: Date | null;
    }
  | {
      /** Everything of the tenant that has not left, or everything of one class. */
      readonly kind: 'tenant';
      readonly messageClass?: MessageClass | null;
      /** Messages made after it are not covered. Default: the time of the answer. */
      readonly coversUntil?: Date | null;
    };

export interface Cancellation {
  readonly tenantId: string;
  readonly target: CancelTarget;
  /** Who asks, and why: kept with the fact. */
  readonly by: string;
  readonly why: string;
}

/** `[kind, message id, business key, event type, event id, campaign id, class, covers until]`, as the functions take it. */
export function targetValues(target: CancelTarget): readonly unknown[] {
  switch (target.kind) {
    case 'message':
      return ['message', target.messageId, null, null, null, null, null, null];
    case 'key':
      return ['key', null, target.businessKey, null, null, null, null, null];
    case 'event':
      return ['event', null, null, target.eventType, target.eventId, null, null, null];
    case 'campaign':
      return ['campaign', null, null, null, null, target.campaignId, null, target.coversUntil ?? null];
    case 'tenant':
      return ['tenant', null, null, null, null, null, target.messageClass ?? null, target.coversUntil ?? null];
  }
}
