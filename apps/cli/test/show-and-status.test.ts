import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  ensureMonths,
  markNext,
  openReview,
  recordReceipts,
  registerWorker,
  rowsOf,
} from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { DEFAULTS } from './message-file.ts';
import { aHouse, runCli } from './run-cli.ts';

const TXN = '6305583318236810379';
const RECIPIENT = '919876543210';
const BODY = 'secret words';

/** One message from enqueue to a receipt, with a review that names its number. */
async function aDeliveredMessage(url: string, pool: pg.Pool): Promise<Record<string, string>> {
  await aHouse(url);
  await ensureMonths(pool, 1);
  const input = JSON.stringify({ to: `+${RECIPIENT}`, body: BODY, event_id: 'order-7781' });
  await runCli(['enqueue', '-', '--format', 'ndjson', ...DEFAULTS], { url, input });
  const [route] = await rowsOf<{ id: string }>(pool, 'select id from sendledger.route');
  const routeId = route?.id ?? '';
  const worker = await registerWorker(pool, 'submit', 'submit-0');
  const lane = { routeId, messageClass: 'transactional' as const };
  await claim(pool, { ...lane, limit: 10, leaseMs: 20_000, workerId: worker.id });
  const marks = { ...lane, limit: 10, leaseMs: 60_000, environment: 'test', workerId: worker.id };
  const [submission] = await markNext(pool, marks);
  if (submission === undefined) throw new Error('nothing marked');
  const { id, createdAt, leaseToken } = submission;
  await durably(pool, (sql) =>
    applyOutcomes(sql, [
      {
        id,
        createdAt,
        leaseToken,
        state: 'accepted',
        reason: 'accepted',
        proof: null,
        providerTxnId: TXN,
        statusCode: '200',
        httpStatus: 200,
        rawReply: Buffer.from(`{"mobile":"${RECIPIENT}"}`),
        pollInMs: 0,
        rows: submission.rows.map((row) => ({
          id: row.id,
          createdAt: row.createdAt,
          to: 'submitted',
          reason: null,
          cause: 'success',
          countsAsAttempt: true,
          retryInMs: null,
        })),
      },
    ]),
  );
  const origin = { routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' as const };
  const { hashes } = await durably(pool, (sql) =>
    recordReceipts(sql, origin, [
      {
        providerTxnId: TXN,
        providerMessageId: 'pm-1',
        recipient: RECIPIENT,
        senderId: null,
        statusWord: 'DELIVERED',
        status: 'delivered',
        cause: 'Success',
        causeClass: 'none',
        submittedAt: null,
        // A provider's clock may be hours off; the story goes by ours.
        deliveredAt: new Date(Date.now() - 3_600_000),
        evidence: { mobileNo: RECIPIENT },
      },
    ]),
  );
  await durably(pool, (sql) => applyReceipts(sql, origin, hashes));
  const [row] = await rowsOf<Record<string, string>>(
    pool,
    'select id, created_at, attempt_key, business_key, event_id, recipient, provider_txn_id, provider_message_id from sendledger.outbound_message',
  );
  if (row === undefined) throw new Error('no row');
  await openReview(pool, {
    kind: 'stranger_in_reply',
    subject: `${TXN} ${RECIPIENT}`,
    message: { id: row.id ?? '', createdAt: new Date(row.created_at ?? '') },
    evidence: { number: RECIPIENT },
  });
  return row;
}

describe('show', () => {
  test('finds the message by whatever a person has, tells its story in order, and shows no number and no text', async ({
    freshDatabase: { url, pool },
  }) => {
    const row = await aDeliveredMessage(url, pool);
    const { id, attempt_key, business_key, provider_message_id } = row;
    const ids = [
      id,
      attempt_key,
      attempt_key?.toUpperCase(),
      business_key,
      'order-7781',
      RECIPIENT,
      `+${RECIPIENT}`,
      '+91 98765 43210',
      TXN,
      provider_message_id,
    ];
    const pages = await Promise.all(ids.map((one) => runCli(['show', one ?? ''], { url })));
    for (const page of pages) expect(page).toMatchObject({ code: 0, stderr: '', stdout: pages[0]?.stdout });

    const page = pages[0]?.stdout ?? '';
    const steps = [...page.matchAll(/^\S+Z {2}(\w+)/gm)].map((match) => match[1]);
    expect(steps).toEqual([
      'enqueued',
      'claimed',
      'quoted',
      'marked',
      'reply',
      'submitted',
      'receipt',
      'delivered',
      'review',
    ]);
    expect(page).toContain('0.1225 INR for 1 unit');
    expect(page).toContain('A person has to decide');
    for (const hidden of [RECIPIENT, '9876543210', BODY]) expect(page).not.toContain(hidden);

    const json = await runCli(['show', id ?? '', '--json'], { url });
    expect(JSON.parse(json.stdout)).toMatchObject([{ message: { id, state: 'delivered', recipient: '9198******10' } }]);
    for (const hidden of [RECIPIENT, '9876543210', BODY]) expect(json.stdout).not.toContain(hidden);

    const revealed = await runCli(['show', id ?? '', '--json', '--reveal'], { url });
    expect(JSON.parse(revealed.stdout)).toMatchObject([
      { message: { recipient: RECIPIENT }, receipts: [{ evidence: { mobileNo: RECIPIENT } }] },
    ]);
    expect(revealed.stdout).not.toContain(BODY);
  });

  test('several that fit are listed; none is one line and exit code 1', async ({ freshDatabase: { url } }) => {
    await aHouse(url);
    const lines = ['e-1', 'e-2'].map((event_id) => JSON.stringify({ to: `+${RECIPIENT}`, body: BODY, event_id }));
    await runCli(['enqueue', '-', '--format', 'ndjson', ...DEFAULTS], { url, input: lines.join('\n') });
    const listed = await runCli(['show', RECIPIENT], { url });
    expect(listed.stdout).toMatch(/order e-1[\s\S]*2 messages/);
    expect(listed.stdout).not.toContain(RECIPIENT);
    const none = await runCli(['show', 'nothing'], { url });
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toMatch(/^No message is known by nothing\.[^\n]*\n$/);
  });
});

describe('status', () => {
  test('states, cost by currency, workers and reviews, for people and as JSON', async ({
    freshDatabase: { url, pool },
  }) => {
    await aDeliveredMessage(url, pool);
    const page = await runCli(['status'], { url });
    expect(page).toMatchObject({ code: 0, stderr: '' });
    for (const line of [/^delivered +1$/m, /^INR +0\.1225 +0\.0000 +1$/m, /^submit +1 +/m, /^stranger_in_reply +1 +/m])
      expect(page.stdout).toMatch(line);
    const json = JSON.parse((await runCli(['status', '--json', '--since', '2000-01-01T00:00:00Z'], { url })).stdout);
    expect(json).toMatchObject({
      states: { delivered: 1, pending: 0 },
      billed: [{ currency: 'INR', cost: '0.1225', units: '1', adjusted: '0.0000' }],
      workers: [{ app: 'submit', alive: 1 }],
      reviews: [{ kind: 'stranger_in_reply', open: 1 }],
    });
    const future = await runCli(['status', '--json', '--since', '2999-01-01T00:00:00Z'], { url });
    expect(JSON.parse(future.stdout)).toMatchObject({ states: { delivered: 0 }, billed: [] });
    expect(await runCli(['status', '--since', 'yesterday'], { url })).toMatchObject({ code: 1, stdout: '' });
  });
});
