import type { RecipientFault } from './recipient.ts';
import type { TemplateFault } from './template.ts';

/**
 * Every reason for which a message is refused before anything is written, with its sentence. The code is stable, the
 * sentence is for people. Neither ever holds a value of the message: bodies, codes and numbers stay out of logs.
 */
export const MESSAGE_FAULTS = {
  missing: 'It is required.',
  wrong_type: 'It has the wrong type; ids are text.',
  unknown_field: 'There is no such field; a misspelt one would be ignored silently.',
  not_allowed: 'It is not one of the allowed values.',
  empty: 'It is empty.',
  nul: 'It holds a NUL character, which Postgres cannot store.',
  lone_surrogate: 'It holds half of a surrogate pair, which is no character.',
  sentinel: 'It is a placeholder for "no id" and not an id.',
  too_long: 'It is longer than allowed.',
  too_many_segments: 'The text needs more than 10 segments.',
  body_and_template: 'Give a body or a template, not both.',
  no_recipient: 'There is no recipient.',
  duplicate_recipient: 'The same number stands earlier in the list.',
  landline: 'It is a landline, which cannot receive this.',
  not_a_number: 'It is not a phone number.',
  extension: 'A number with an extension cannot receive a message.',
  doubled_country_code: 'The country code stands twice.',
  too_short: 'The number has too few digits for its country.',
  invalid: 'No such number exists in its numbering plan.',
  no_region: 'The number has no country code and no default region is set.',
  sender_shape: 'A sender is 1 to 11 letters and digits, or up to 15 digits.',
  no_offset: 'A time needs an offset: Z or ±hh:mm; scheduledFor may have scheduledTz beside it instead.',
  not_a_time: 'It is not a time.',
  past: 'It lies in the past.',
  before_schedule: 'It must lie after scheduledFor.',
  unknown_zone: 'It is not an IANA time zone.',
  held_needs_schedule: 'It needs scheduledFor.',
  otp_not_scheduled: 'A one-time password is not scheduled.',
  provider_holds_none: 'The provider of this route holds no schedules.',
  class_not_allowed: 'This tenant may not send this class.',
  otp_needs_template: 'A one-time password needs a registered template of class otp.',
  otp_replay: 'A one-time password is never replayed; ask for a new code.',
  too_many_steps: 'At most 5 steps may follow a message.',
  step_needs_number: 'A step reaches the same number, and this has none.',
  not_seconds: 'It is a whole number of seconds, from 1 to 9,999,999.',
  duplicate_not_accepted: 'What may yet arrive is followed by another only where a duplicate is acceptable.',
  template_unknown: 'The template is not registered, not in that version, retired, or malformed.',
  template_class: 'The template is approved for another message class.',
  template_channel: 'The template is approved for another channel.',
  dlt_mismatch: 'It differs from the id the template is registered under; the operator would refuse and bill it.',
  missing_variable: 'The template needs this variable.',
  unknown_variable: 'The template has no such variable.',
  pattern_mismatch: "It does not match the variable's pattern.",
  secret_outside_otp: 'A secret variable is allowed in one-time passwords only.',
} as const satisfies Record<RecipientFault | TemplateFault, string> & Record<string, string>;

export type MessageFault = keyof typeof MESSAGE_FAULTS;

export interface MessageProblem {
  /** Path in the message, e.g. `event.id`, `to[3]`, `fallback[1].template.params.code`. */
  readonly field: string;
  readonly reason: MessageFault;
  /** The reason as a sentence. */
  readonly message: string;
  /** Position in `to` of the one recipient it concerns; null where it concerns the whole message. */
  readonly to: number | null;
}

export function problem(field: string, reason: MessageFault, to: number | null = null): MessageProblem {
  return { field, reason, message: MESSAGE_FAULTS[reason], to };
}
