import type { MessageChannel, MessageClass, MessageState } from '@sendledger/core';
import type { DirectoryCache } from './directory.ts';
import { namedError } from './ledger-call.ts';
import type { SqlExecutor } from './sql-executor.ts';
import {
  type ByEvent,
  type ByKey,
  type ByMessage,
  isMessageId,
  targetOf,
  tenantOf,
  type WhichSettings,
} from './which.ts';

/** What became of a message. No text, no parameters: what was sent is not for a look-up. */
export interface FoundMessage {
  readonly id: string;
  readonly createdAt: Date;
  readonly businessKey: string;
  /** Null, with everything that follows but `state`, where the row is archived and only its key is left. */
  readonly attemptKey: string | null;
  /** The message it was sent again for. */
  readonly replacesId: string | null;
  readonly event: { readonly type: string; readonly id: string } | null;
  readonly campaign: string | null;
  readonly channel: MessageChannel | null;
  readonly class: MessageClass | null;
  /** E.164 digits. */
  readonly recipient: string | null;
  readonly state: MessageState | null;
  readonly reason: string | null;
  /** Requests the provider was asked for it. */
  readonly attempts: number | null;
  readonly dueAt: Date | null;
  readonly submitBy: Date | null;
  readonly scheduledFor: Date | null;
  readonly submittedAt: Date | null;
  /** By the provider's clock. */
  readonly deliveredAt: Date | null;
  readonly provider: {
    readonly name: string;
    readonly transactionId: string | null;
    readonly messageId: string | null;
    readonly statusCode: string | null;
    readonly cause: string | null;
  } | null;
  /** Null until it is billed. The amount is a decimal, as text; the units are recipients × segments. */
  readonly cost: {
    readonly amount: string;
    readonly currency: string;
    readonly units: number;
    /** Where the amount comes from: `quote`, `evidence`, … */
    readonly source: string;
  } | null;
  /** Evidence contradicts the state; a person looks at it. */
  readonly conflict: boolean;
}

export interface Find {
  readonly which: ByMessage | ByKey | ByEvent;
  /** Default: the producer's. */
  readonly tenant?: string | undefined;
  /** Default 1 000, the oldest first. */
  readonly limit?: number | undefined;
}

/** Messages of the tenant by what names them: each key's latest, so of one that was sent again the successor. */
export async function findMessages(
  sql: SqlExecutor,
  wanted: Find,
  settings: WhichSettings,
  directory: DirectoryCache,
): Promise<FoundMessage[]> {
  try {
    const tenantId = tenantOf(wanted.tenant, settings);
    if ('messageId' in wanted.which && !isMessageId(wanted.which.messageId)) return [];
    const target = await targetOf(sql, wanted.which, tenantId, settings, directory);
    const { rows } = await sql.query(
      'select * from sendledger.find_messages($1, $2::bigint, $3, $4, $5, $6::integer)',
      [
        tenantId,
        target.kind === 'message' ? target.messageId : null,
        target.kind === 'key' ? target.businessKey : null,
        target.kind === 'event' ? target.eventType : null,
        target.kind === 'event' ? target.eventId : null,
        wanted.limit ?? 1_000,
      ],
    );
    return (rows as unknown as FoundRow[]).map(foundMessage);
  } catch (error) {
    throw namedError(error);
  }
}

/** As the function answers. A driver may hand instants over as text. */
interface FoundRow {
  readonly id: string;
  readonly created_at: string | Date;
  readonly business_key: string;
  readonly attempt_key: string | null;
  readonly replaces_id: string | null;
  readonly event_type: string | null;
  readonly event_id: string | null;
  readonly campaign_id: string | null;
  readonly channel: MessageChannel | null;
  readonly message_class: MessageClass | null;
  readonly recipient: string | null;
  readonly state: MessageState | null;
  readonly state_reason: string | null;
  readonly attempt_count: number | null;
  readonly due_at: string | Date | null;
  readonly submit_by: string | Date | null;
  readonly scheduled_for: string | Date | null;
  readonly submitted_at: string | Date | null;
  readonly delivered_at: string | Date | null;
  readonly provider: string | null;
  readonly provider_txn_id: string | null;
  readonly provider_message_id: string | null;
  readonly provider_status_code: string | null;
  readonly provider_cause: string | null;
  readonly billable_units: number | null;
  readonly cost: string | null;
  readonly cost_currency: string | null;
  readonly cost_source: string | null;
  readonly conflict: boolean | null;
}

const instant = (value: string | Date | null): Date | null => (value === null ? null : new Date(value));

function foundMessage(row: FoundRow): FoundMessage {
  return {
    id: row.id,
    createdAt: new Date(row.created_at),
    businessKey: row.business_key,
    attemptKey: row.attempt_key,
    replacesId: row.replaces_id,
    event: row.event_type === null || row.event_id === null ? null : { type: row.event_type, id: row.event_id },
    campaign: row.campaign_id,
    channel: row.channel,
    class: row.message_class,
    recipient: row.recipient,
    state: row.state,
    reason: row.state_reason,
    attempts: row.attempt_count,
    dueAt: instant(row.due_at),
    submitBy: instant(row.submit_by),
    scheduledFor: instant(row.scheduled_for),
    submittedAt: instant(row.submitted_at),
    deliveredAt: instant(row.delivered_at),
    provider:
      row.provider === null
        ? null
        : {
            name: row.provider,
            transactionId: row.provider_txn_id,
            messageId: row.provider_message_id,
            statusCode: row.provider_status_code,
            cause: row.provider_cause,
          },
    cost:
      row.cost === null
        ? null
        : {
            amount: row.cost,
            currency: row.cost_currency ?? '',
            units: row.billable_units ?? 0,
            source: row.cost_source ?? '',
          },
    conflict: row.conflict ?? false,
  };
}
