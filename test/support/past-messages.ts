import { randomUUID } from 'node:crypto';
import { dayIn } from '@sendledger/core';
import { rowsOf } from '@sendledger/core/ledger';
import { type GatewaySim, type GatewaySimOptions, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';

const DAY_MS = 86_400_000;
const ZONE = 'Asia/Kolkata';

/** The last `count` days that are over where the provider is, oldest first. */
export function pastDays(count: number, now: number = Date.now()): string[] {
  return Array.from({ length: count }, (_, i) => dayIn(ZONE, new Date(now - (count - i) * DAY_MS)));
}

/** One request of a past day that the provider accepted and whose outcome we have, and nothing after that. */
export interface PastSend {
  readonly day: string;
  readonly at: Date;
  readonly txnId: string;
  readonly recipient: string;
  readonly body: string;
}

/** A simulator in which messages were accepted on these days, a few minutes after noon; its clock is right afterwards. */
export async function simulatorWithPast(
  days: readonly string[],
  perDay: number,
  options: Partial<GatewaySimOptions> = {},
): Promise<{ readonly sim: GatewaySim; readonly sends: readonly PastSend[] }> {
  let clock: number | null = null;
  const sim = await startGatewaySim({ ...options, now: () => clock ?? Date.now() });
  const sends: PastSend[] = [];
  for (const [place, day] of days.entries())
    for (let i = 0; i < perDay; i++) {
      clock = Date.parse(`${day}T12:00:00+05:30`) + i * 60_000;
      const recipient = `9198${String(10_000_000 + place * 1_000 + i)}`;
      const body = `Secret text ${place}-${i}, with a comma`;
      const form = new URLSearchParams({
        ...{ userid: 'demo', password: 'demopassword', sendMethod: 'quick', mobile: recipient, msg: body },
        ...{ senderid: 'SHOPIN', msgType: 'text', output: 'json' },
      });
      const reply = await fetch(`${sim.url}/SMSApi/send`, { method: 'POST', body: form });
      const { transactionId } = (await reply.json()) as { transactionId: string };
      sends.push({ day, at: new Date(clock), txnId: transactionId, recipient, body });
    }
  clock = null;
  return { sim, sends };
}

/** Writes them as rows that were submitted on their days, as the import role, which alone may write a past. */
export async function importPast(
  { pool }: TestDatabase,
  routeId: string,
  sends: readonly PastSend[],
  pollAt: Date | null = null,
): Promise<void> {
  for (const month of new Set(sends.map(({ at }) => at.toISOString().slice(0, 8).concat('01'))))
    await pool.query('select sendledger.create_month($1::date)', [month]);
  const client = await pool.connect();
  try {
    await client.query('begin; set local role sendledger_import');
    for (const send of sends) {
      const [submission] = await rowsOf<{ id: string; created_at: Date }>(
        client,
        `insert into sendledger.submission (route_id, message_class, size, state, epoch_no, not_after, claimed_by, lease_until, marked_by, requested_at,
           lease_token, responded_at, provider_txn_id, created_at, poll_at)
         values ($1, 'transactional', 1, 'accepted', 1, $2::timestamptz + interval '1 hour', 1, $2, 1, $2, $3, $2, $4, $2::timestamptz - interval '1 s', $5)
         returning id, created_at`,
        [routeId, send.at, randomUUID(), send.txnId, pollAt],
      );
      await client.query(
        `insert into sendledger.outbound_message (tenant_id, business_key, event_type, event_id, channel, message_class, recipient, route_id, provider, body,
           encoding, segments, due_at, submit_by, on_proven_absent, state, submission_id, submission_created_at, claimed_at, quoted_units, quoted_cost,
           quoted_currency, billable_units, cost, cost_currency, cost_source, requested_at, submitted_at, receipt_by, provider_txn_id, created_at, sender_id)
         values ('shop', $1, 'order', $1, 'sms', 'transactional', $2, $3, 'smsgatewaycenter', $4, 'GSM7', 1, $5::timestamptz, $5::timestamptz + interval '1 day',
           'stop', 'submitted', $6, $7, $5, 1, '0.1200', 'INR', 1, '0.1200', 'INR', 'quote', $5, $5, now() + interval '1 day', $8,
           $5::timestamptz - interval '1 s', 'SHOPIN')`,
        [
          ...[randomUUID(), send.recipient, routeId, send.body, send.at],
          ...[submission?.id, submission?.created_at, send.txnId],
        ],
      );
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

/** Everything that a receipt of ours says and did, so that two runs can be compared. */
export async function receiptsOf({ pool }: TestDatabase): Promise<string[]> {
  const rows = await rowsOf<{ said: string }>(
    pool,
    `select concat_ws(' ', encode(r.dedupe_hash, 'hex'), r.status_word, r.cause, r.provider_submitted_at, r.provider_delivered_at, m.recipient,
       r.applied_at is not null, r.conflict) as said
     from sendledger.delivery_receipt r left join sendledger.outbound_message m on m.id = r.message_id order by 1`,
  );
  return rows.map(({ said }) => said);
}
