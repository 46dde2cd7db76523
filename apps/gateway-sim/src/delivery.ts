import type { DeliveryScript, FinalWord, ScriptedMessage } from './delivery-script.ts';

/** What the reports say about one message at one moment. */
export interface Delivery {
  /** SUBMITTED, DELIVERED, FAILED, or whatever an override says. */
  status: string;
  cause: string;
  /** Milliseconds since the epoch; null while not final. */
  finalAt: number | null;
}

/** What the reports say of a message now. @param now milliseconds since the epoch. */
export function deliveryOf(
  script: DeliveryScript,
  message: ScriptedMessage,
  dispatchedAt: number,
  now: number,
): Delivery {
  const final = script.courseOf(message, dispatchedAt).findLast(({ at }) => at <= now);
  const override = script.overrideOf(message.mobile);
  if (override !== null) {
    const finalAt = final?.at ?? Math.max(override.since, dispatchedAt);
    return { status: override.status, cause: override.cause, finalAt };
  }
  return final === undefined ? { status: 'SUBMITTED', cause: 'Submitted', finalAt: null } : shown(final);
}

/** When a message was delivered, or null if the report does not say that it was. */
export function deliveredAt({ status, finalAt }: Delivery): number | null {
  return status === 'DELIVERED' ? finalAt : null;
}

function shown({ status, cause, at }: FinalWord): Delivery {
  return { status, cause, finalAt: at };
}
