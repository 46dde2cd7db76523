import { randomUUID } from 'node:crypto';
import {
  addRate,
  addRoute,
  type ClaimRequest,
  claim,
  type MarkedSubmission,
  markNext,
  registerWorker,
  type WorkerIdentity,
} from '@sendledger/core/ledger';
import type pg from 'pg';

/** `count` messages of a route of their own, each claimed into a submission that waits for its mark. */
export async function claimedMessages(
  pool: pg.Pool,
  count: number,
): Promise<{ readonly worker: WorkerIdentity; readonly lane: ClaimRequest }> {
  const name = `route-${randomUUID().slice(0, 13)}`;
  const { id: routeId } = await addRoute(pool, {
    name,
    provider: 'smsgatewaycenter',
    account: 'default',
    channel: 'sms',
    maxBatch: 1,
    encodingRule: 'gsm7',
    providerZone: 'Asia/Kolkata',
    defaultSenderId: null,
    senderRequired: false,
    nationalDigits: null,
  });
  await addRate(pool, {
    routeId,
    priceKey: '*',
    currency: 'INR',
    price: '0.1225',
    validFrom: new Date('2020-01-01T00:00:00Z'),
    validTo: null,
  });
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
    route: name,
  }));
  await pool.query('select count(*) from sendledger.enqueue($1::json)', [JSON.stringify(messages)]);
  const worker = await registerWorker(pool, 'test', randomUUID());
  const lane: ClaimRequest = {
    routeId,
    messageClass: 'transactional',
    limit: count,
    leaseMs: 600_000,
    workerId: worker.id,
  };
  await claim(pool, lane);
  return { worker, lane };
}

/** The same, marked: what a worker holds while its requests are on the wire. */
export async function markedSubmissions(pool: pg.Pool, count: number): Promise<MarkedSubmission[]> {
  const { lane } = await claimedMessages(pool, count);
  return markNext(pool, { ...lane, environment: 'test' });
}
