import { z } from 'zod';
import { MESSAGE_CHANNELS, MESSAGE_CLASSES } from './state.ts';
import { FALLBACK_CHANNELS } from './template-fallback.ts';

/** Shape only: what a field means is judged in `prepare-message.ts`, where all problems are found together. */
const text = z.string();
const instant = z.custom<string | Date>((value) => typeof value === 'string' || value instanceof Date);
/** A version counts, it names nothing: a safe integer is exact. Ids have no number form. */
const version = z.union([z.int().nonnegative(), text]);
const dlt = z.strictObject({ entityId: text.optional(), templateId: text.optional() });
const template = z.strictObject({
  id: text,
  /** Default: the highest registered version. */
  version: z.int().positive().optional(),
  params: z.record(text, text).optional(),
});

const fallbackStep = z.strictObject({
  /** Default `sms`. It reaches the same number. */
  channel: z.enum(FALLBACK_CHANNELS).optional(),
  /** Default: as a message of this channel and class would find one. */
  route: text.optional(),
  /** The text as it is sent. Exactly one of `body` and `template`. */
  body: text.optional(),
  /** `params` default: those of the message's that this template declares. */
  template: template.optional(),
  /** Default: the template's, else the route's. */
  sender: text.optional(),
  dlt: dlt.optional(),
  /** Taken as well where what it follows is not delivered for so long since it was submitted; needs `mayDuplicate`. */
  afterSeconds: z.number().optional(),
  /** Both may arrive, and that is acceptable. */
  mayDuplicate: z.boolean().optional(),
});

/** A step of a message's chain as a caller gives it. */
export type FallbackStep = z.input<typeof fallbackStep>;

export const messageSchema = z.strictObject({
  /** Who sends. Default: the producer's tenant. */
  tenant: text.optional(),
  channel: z.enum(MESSAGE_CHANNELS).optional(),
  class: z.enum(MESSAGE_CLASSES),
  /** One or several phone numbers, with a plus and country code, or readable in the tenant's default region. */
  to: z.union([text, z.array(text).readonly()]),
  /** The business event: what happened. It makes the key, so a retry of the event is the same message. */
  event: z.strictObject({ type: text, id: text, version: version.optional() }),
  /** Parts of the business key for an event that legitimately speaks more than once. */
  key: z
    .strictObject({
      template: text.optional(),
      version: text.optional(),
      step: text.optional(),
      bucket: text.optional(),
    })
    .optional(),
  /** The text as it is sent. Exactly one of `body` and `template`; a one-time password always has a template. */
  body: text.optional(),
  template: template.optional(),
  sender: text.optional(),
  /** Indian DLT: principal entity and content template, each 19 digits, as text. Default: the template's. */
  dlt: dlt.optional(),
  /** Not before this instant; without an offset: not before the clocks of `scheduledTz` show this time. */
  scheduledFor: instant.optional(),
  /** The IANA zone the sender thought in, kept beside the instant. */
  scheduledTz: text.optional(),
  /** Who keeps it until `scheduledFor`. Default `us`. What cannot be with the provider in time is held by us all the same. */
  heldBy: z.enum(['us', 'provider']).optional(),
  /** Worthless after this instant: never handed to a provider later. Default: the lane's validity. */
  submitBy: instant.optional(),
  /** Default: the tenant's route for channel and class, else the channel's only one. */
  route: text.optional(),
  campaign: text.optional(),
  /** What happens once it is proven that the provider does not have it. Default `replay`; for OTP always `stop`. */
  onProvenAbsent: z.enum(['replay', 'stop']).optional(),
  /** What is sent instead, in this order, where it cannot be delivered. Default: what its template says; `[]`: nothing. */
  fallback: z.array(fallbackStep).readonly().optional(),
});

/** A message as a caller gives it. */
export type Message = z.input<typeof messageSchema>;

/** A text ready to be sent, with its counts and what it was made from. */
export interface PreparedContent {
  readonly body: string;
  /** Under the rule `gsm7`; beside it the count under `ascii`. The database takes the pair of the route's rule. */
  readonly encoding: string;
  readonly segments: number;
  readonly ascii_encoding: string;
  readonly ascii_segments: number;
  readonly dlt_entity_id: string | null;
  readonly dlt_template_id: string | null;
  readonly template_id: string | null;
  readonly template_version: string | null;
  /** Without the values of secret variables. */
  readonly template_params: Readonly<Record<string, string>> | null;
}

/** One step of a chain. It is rendered with the message, because the values of secret variables are stored nowhere. */
export interface PreparedStep extends PreparedContent {
  readonly channel: string;
  readonly route: string | null;
  readonly sender_id: string | null;
  readonly after_s: number | null;
  readonly may_duplicate: boolean;
}

/**
 * One row for `sendledger.enqueue`: one recipient of one message. Everything is text or null but the counts, the parameters
 * and the steps, so that no id passes through a number.
 */
export interface PreparedMessage extends PreparedContent {
  readonly tenant_id: string;
  readonly channel: string;
  readonly message_class: string;
  /** E.164 digits without the plus. */
  readonly recipient: string;
  readonly country: string | null;
  readonly sender_id: string | null;
  readonly event_type: string;
  readonly event_id: string;
  readonly event_version: string | null;
  readonly key_template: string | null;
  readonly key_version: string | null;
  readonly key_step: string | null;
  readonly key_bucket: string | null;
  readonly route: string | null;
  /** ISO 8601 in UTC; without an offset it is the wall clock of `scheduled_tz`, of which the database makes the instant. */
  readonly scheduled_for: string | null;
  readonly scheduled_tz: string | null;
  readonly held_by: string | null;
  /** ISO 8601 in UTC. */
  readonly submit_by: string | null;
  readonly campaign_id: string | null;
  readonly on_proven_absent: string;
  /** Null where nothing follows. */
  readonly fallback: readonly PreparedStep[] | null;
}
