import { applyOutcomes, applyReceipts, durably, openReview, recordReceipts, rowsOf } from '@sendledger/core/ledger';
import type pg from 'pg';
import { marked, only, outcomeOf } from '../../../packages/core/test/ledger/on-the-way.ts';
import { type Scene, scene } from '../../../packages/core/test/ledger/scene.ts';

/** Whatever is written into the ledger by others is also written to harm who reads it. */
export const HOSTILE = `<script>alert(1)</script>"><img src=x onerror=alert(2)>'`;

export interface Told {
  readonly id: string;
  readonly attempt_key: string;
  readonly business_key: string;
  readonly event_id: string;
  readonly recipient: string;
  readonly provider_txn_id: string;
  readonly provider_message_id: string;
}

export interface TellOptions {
  readonly recipient: string;
  readonly body: string;
  readonly messageClass?: 'otp' | 'transactional';
  /** What goes into every field that others fill. */
  readonly words?: string;
  readonly txn?: string;
}

/** One message from enqueue to its receipt, with a review about it, as the provider and the producer wrote it. */
export async function aDelivered(pool: pg.Pool, s: Scene, options: TellOptions): Promise<Told> {
  const { recipient, body, messageClass = 'transactional', words = 'fine' } = options;
  const sent = only(
    await marked(
      pool,
      s,
      [
        {
          recipient,
          body,
          more: { event_id: `order-${words}-${recipient}`, event_type: `t ${words}`, campaign_id: words },
        },
      ],
      messageClass,
    ),
  );
  const txn = options.txn ?? `txn-${sent.id}-${words}`;
  await durably(pool, (sql) =>
    applyOutcomes(sql, [
      outcomeOf(sent, 'accepted', {
        providerTxnId: txn,
        reason: `accepted ${words}`,
        rawReply: Buffer.from(
          `{"mobile":"+${recipient}","note":"${words}","as":"${recipient.slice(0, 2)}-${recipient.slice(2, 7)} ${recipient.slice(7)}"}`,
        ),
      }),
    ]),
  );
  const origin = { routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' as const };
  const { hashes } = await durably(pool, (sql) =>
    recordReceipts(sql, origin, [
      {
        providerTxnId: txn,
        providerMessageId: `pm-${sent.id}`,
        recipient,
        senderId: null,
        statusWord: `DELIVRD ${words}`,
        status: 'delivered',
        cause: `Success ${words}`,
        causeClass: 'none',
        submittedAt: null,
        deliveredAt: new Date(),
        evidence: { mobileNo: recipient, [`n ${words}`]: words, national: recipient.slice(-10) },
      },
    ]),
  );
  await durably(pool, (sql) => applyReceipts(sql, origin, hashes));
  const row = only(
    await rowsOf<Told & { created_at: Date }>(
      pool,
      `select id, created_at, attempt_key, business_key, event_id, recipient, provider_txn_id, provider_message_id
       from sendledger.outbound_message where id = $1`,
      [only(sent.rows).id],
    ),
  );
  await openReview(pool, {
    kind: 'receipt_conflict',
    subject: `${words} ${recipient}`,
    message: { id: row.id, createdAt: row.created_at },
    evidence: { said: words, number: recipient, about: `+${recipient}` },
  });
  return row;
}

export const aScene = (pool: pg.Pool) => scene(pool, { maxBatch: 1 });
