import { z } from 'zod';
import { MESSAGE_CHANNELS, MESSAGE_CLASSES } from './state.ts';

/** Shape only: what a field means is judged in `prepare-message.ts`, where all problems are found together. */
const text = z.string();
const instant = z.custom<string | Date>((value) => typeof value === 'string' || value instanceof Date);
/** A version counts, it names nothing: a safe integer is exact. Ids have no number form. */
const version = z.union([z.int().nonnegative(), text]);

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
  /** The text as it is sent. Exactly one of `body` and `template`. */
  body: text.optional(),
  template: z
    .strictObject({
      id: text,
      /** Default: the highest registered version. */
      version: z.int().positive().optional(),
      params: z.record(text, text).optional(),
    })
    .optional(),
  sender: text.optional(),
  /** Indian DLT: principal entity and content template, each 19 digits, as text. Default: the template's. */
  dlt: z.strictObject({ entityId: text.optional(), templateId: text.optional() }).optional(),
  /** Not before this instant. */
  scheduledFor: instant.optional(),
  /** The IANA zone the sender thought in, kept beside the instant. */
  scheduledTz: text.optional(),
  /** Worthless after this instant: never handed to a provider later. Default: the lane's validity. */
  submitBy: instant.optional(),
  /** Default: the tenant's route for channel and class, else the channel's only one. */
  route: text.optional(),
  campaign: text.optional(),
  /** What happens once it is proven that the provider does not have it. Default `replay`; for OTP always `stop`. */
  onProvenAbsent: z.enum(['replay', 'stop']).optional(),
});

/** A message as a caller gives it. */
export type Message = z.input<typeof messageSchema>;

/**
 * One row for `sendledger.enqueue`: one recipient of one message. Everything is text or null but the two counts and the
 * parameters, so that no id passes through a number.
 */
export interface PreparedMessage {
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
  readonly route: string | null;
  /** ISO 8601 in UTC, like `submit_by`. */
  readonly scheduled_for: string | null;
  readonly scheduled_tz: string | null;
  readonly submit_by: string | null;
  readonly campaign_id: string | null;
  readonly on_proven_absent: string;
}
