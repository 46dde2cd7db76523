import { randomUUID } from 'node:crypto';
import {
  addRate,
  addRoute,
  applyOutcomes,
  claim,
  durably,
  markNext,
  type RowRef,
  registerWorker,
  rowsOf,
} from '@sendledger/core/ledger';
import type pg from 'pg';

export interface Accepted {
  readonly routeId: string;
  readonly submission: RowRef;
  readonly recipient: string;
}

/** A route of its own for this account. */
export async function aRoute(pool: pg.Pool, account: string, provider = 'smsgatewaycenter'): Promise<string> {
  const { id } = await addRoute(pool, {
    name: `route-${randomUUID().slice(0, 13)}`,
    provider,
    account,
    channel: 'sms',
    maxBatch: 1,
    encodingRule: 'gsm7',
    providerZone: 'Asia/Kolkata',
    defaultSenderId: null,
    senderRequired: false,
    nationalDigits: null,
  });
  await addRate(pool, {
    routeId: id,
    priceKey: '*',
    currency: 'INR',
    price: '0.1225',
    validFrom: new Date('2020-01-01T00:00:00Z'),
    validTo: null,
  });
  // Every place on the wire is for what these tests send.
  await pool.query('update sendledger.route set otp_reserve = 0 where id = $1', [id]);
  return id;
}

/** Messages that the provider accepted, one a submission; `txnOf` gives each its transaction, or none. Their reports are due. */
export async function accepted(
  pool: pg.Pool,
  routeId: string,
  count: number,
  txnOf: (i: number) => string | null,
): Promise<Accepted[]> {
  const [route] = await rowsOf<{ name: string }>(pool, 'select name from sendledger.route where id = $1', [routeId]);
  const messages = Array.from({ length: count }, (_, i) => ({
    tenant_id: 'shop',
    channel: 'sms',
    message_class: 'transactional',
    recipient: `9190${10_000_000 + i}`,
    country: 'IN',
    event_type: 'order',
    event_id: randomUUID(),
    body: 'Your order is ready',
    encoding: 'GSM7',
    segments: '1',
    route: route?.name,
  }));
  await pool.query('select count(*) from sendledger.enqueue($1::json)', [JSON.stringify(messages)]);
  const worker = await registerWorker(pool, 'test', randomUUID());
  const lane = { routeId, messageClass: 'transactional' as const, limit: count, leaseMs: 600_000, workerId: worker.id };
  await claim(pool, lane);
  const marked = await markNext(pool, { ...lane, environment: 'test' });
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      marked.map((m, i) => ({
        id: m.id,
        createdAt: m.createdAt,
        leaseToken: m.leaseToken,
        state: 'accepted' as const,
        reason: 'accepted',
        proof: null,
        providerTxnId: txnOf(i),
        statusCode: '200',
        httpStatus: 200,
        rawReply: null,
        pollInMs: 0,
        rows: m.rows.map(({ id, createdAt }) => ({
          id,
          createdAt,
          to: 'submitted' as const,
          reason: null,
          cause: null,
          countsAsAttempt: true,
          retryInMs: null,
        })),
      })),
    ),
  );
  return marked.map((m) => ({
    routeId,
    submission: { id: m.id, createdAt: m.createdAt },
    recipient: m.rows[0]?.recipient ?? '',
  }));
}

export interface Polled {
  readonly id: string;
  readonly polls: number;
  /** Whether its report is due now; null where it is never read again. */
  readonly due: boolean | null;
  readonly state: string;
  readonly cost: string | null;
}

/** What became of a route's submissions and their one message each. */
export async function polledOf(pool: pg.Pool, routeId: string): Promise<Polled[]> {
  return rowsOf<Polled>(
    pool,
    `select s.id, s.polls, s.poll_at <= now() as due, m.state, m.cost from sendledger.submission s
     join sendledger.outbound_message m on m.submission_id = s.id where s.route_id = $1 order by s.id`,
    [routeId],
  );
}

/** Lets the next look be due, and the waiting for a receipt be over where that is wanted. */
export async function passTime(
  pool: pg.Pool,
  routeId: string,
  receiptBy: 'still open' | 'just over' | 'over',
): Promise<void> {
  await pool.query('update sendledger.submission set poll_at = now() where route_id = $1 and poll_at is not null', [
    routeId,
  ]);
  if (receiptBy !== 'still open')
    await pool.query(`update sendledger.outbound_message set receipt_by = now() - $2::interval where route_id = $1`, [
      routeId,
      receiptBy === 'over' ? '25 hours' : '1 second',
    ]);
}
