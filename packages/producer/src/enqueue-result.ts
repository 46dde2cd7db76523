import { MESSAGE_FAULTS, type MessageFault, type Prepared } from '@sendledger/core';
import type { LedgerAnswer } from './ledger-call.ts';
import type { Refusal, RefusalReason } from './message-refused.ts';

/** What became of one recipient of one message. */
export interface EnqueueResult {
  /** Position of the message in the call. */
  readonly index: number;
  /** E.164 digits; as it was given where it could not be read. */
  readonly recipient: string;
  /**
   * `created`: a new row. `duplicate`: the same message is in the ledger already, and `id` is its row. `conflict`: the key is
   * taken by a message with other content. `invalid`: not written.
   */
  readonly answer: 'created' | 'duplicate' | 'conflict' | 'invalid';
  readonly id?: string;
  /** Text in UTC, milliseconds; with `id` it is the row's key. */
  readonly createdAt?: string;
  /** In every log line and trace of this attempt. Absent for a duplicate whose row is archived. */
  readonly attemptKey?: string;
  readonly field?: string;
  readonly reason?: RefusalReason;
  /** The reason as a sentence. */
  readonly message?: string;
}

/** Where a row came from: message of the call, position in its `to`. */
export interface RowOrigin {
  readonly index: number;
  readonly to: number;
}

/** The database names columns; a caller knows the message. */
const FIELD_OF_COLUMN: Readonly<Record<string, string>> = {
  tenant_id: 'tenant',
  message_class: 'class',
  recipient: 'to',
  country: 'to',
  sender_id: 'sender',
  event_type: 'event.type',
  event_id: 'event.id',
  event_version: 'event.version',
  encoding: 'body',
  segments: 'body',
  dlt_entity_id: 'dlt.entityId',
  dlt_template_id: 'dlt.templateId',
  template_id: 'template',
  template_version: 'template.version',
  scheduled_for: 'scheduledFor',
  scheduled_tz: 'scheduledTz',
  held_by: 'heldBy',
  fallback: 'fallback',
  submit_by: 'submitBy',
  campaign_id: 'campaign',
  on_proven_absent: 'onProvenAbsent',
};

/** What the database refuses for a reason that has a name here says so in the same sentence. */
const FAULT_OF_SENTENCE: ReadonlyMap<string, MessageFault> = new Map(
  (Object.keys(MESSAGE_FAULTS) as MessageFault[]).map((fault) => [MESSAGE_FAULTS[fault], fault]),
);

/** Positions in `to` that have a row: all but those a problem names; none when the whole message is refused. */
export function originsOf(prepared: Prepared, index: number, recipients: number): RowOrigin[] {
  const bad = new Set(prepared.ok ? [] : prepared.problems.map((problem) => problem.to));
  if (bad.has(null)) return [];
  return Array.from({ length: recipients }, (_, to) => ({ index, to })).filter(({ to }) => !bad.has(to));
}

export function refusalOf(origin: RowOrigin, answer: LedgerAnswer): Refusal | undefined {
  if (answer.answer === 'created' || answer.answer === 'duplicate') return undefined;
  const column = answer.field ?? 'message';
  return {
    index: origin.index,
    to: origin.to,
    field: FIELD_OF_COLUMN[column] ?? column,
    ...reasonOf(answer),
    ...(answer.id === undefined ? {} : { id: answer.id }),
  };
}

function reasonOf({ answer, reason = '' }: LedgerAnswer): Pick<Refusal, 'reason' | 'message'> {
  if (answer === 'conflict') return { reason: 'conflict', message: reason };
  // Of a step the database says it as half a sentence.
  for (const sentence of [reason, `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`]) {
    const fault = FAULT_OF_SENTENCE.get(sentence);
    if (fault !== undefined) return { reason: fault, message: sentence };
  }
  return { reason: 'refused_by_database', message: reason };
}

export function writtenResult(origin: RowOrigin, recipient: string, answer: LedgerAnswer): EnqueueResult {
  const refusal = refusalOf(origin, answer);
  return {
    index: origin.index,
    recipient,
    answer: answer.answer,
    ...(answer.id === undefined ? {} : { id: answer.id }),
    ...(answer.createdAt === undefined ? {} : { createdAt: answer.createdAt }),
    ...(answer.attemptKey === undefined ? {} : { attemptKey: answer.attemptKey }),
    ...(refusal === undefined ? {} : { field: refusal.field, reason: refusal.reason, message: refusal.message }),
  };
}

/** The result of a recipient without a row: its own problem if it has one, else the message's first. */
export function refusedResult(
  index: number,
  to: number,
  recipient: string,
  refusals: readonly Refusal[],
): EnqueueResult {
  const refusal = refusals.find((r) => r.to === to) ?? refusals.find((r) => r.to === null) ?? refusals[0];
  return {
    index,
    recipient,
    answer: 'invalid',
    ...(refusal === undefined ? {} : { field: refusal.field, reason: refusal.reason, message: refusal.message }),
  };
}
