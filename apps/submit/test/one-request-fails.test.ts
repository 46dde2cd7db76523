import { rowsOf } from '@sendledger/core/ledger';
import { type Adapter, createSmsGatewayCenter, type Outcome } from '@sendledger/gateway';
import { createLog, createWakeUps, Registry, RouteLimiter } from '@sendledger/worker';
import { expect, vi } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { Submitter } from '../src/submit-lanes.ts';
import { claimedMessages } from './marked-submissions.ts';

const REPLY = { httpStatus: 200, raw: null, statusCode: '200', reason: 'success' };

test('a request whose outcome is lost on the way to the ledger ends neither the process nor the others, and frees its place', async ({
  freshDatabase: { pool },
}) => {
  const { worker } = await claimedMessages(pool, 9);
  const log = createLog('submit', 'silent', 'test');
  const errors = vi.spyOn(log, 'error');
  // An event nobody hears ends a process; the runner would report it, and this says what it was.
  const unheard: unknown[] = [];
  const hear = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', hear);

  const real = createSmsGatewayCenter({ baseUrl: 'http://127.0.0.1:1', userid: 'demo', password: 'demopassword' });
  const adapter: Adapter = {
    ...real,
    async submit({ recipients }): Promise<Outcome> {
      // Every third has to be paced, and pacing fails: an error where nobody expects one.
      const [recipient = ''] = recipients;
      if (Number(recipient) % 3 === 0) return { kind: 'not_sent', proof: 'no_connection', detail: 'x', reply: REPLY };
      return { kind: 'accepted', providerTxnId: recipient, rejected: [], unaccounted: [], strangers: [], reply: REPLY };
    },
  };
  const submitter = new Submitter(
    { pool, sql: pool, log, wakeUps: createWakeUps(undefined, log), worker, registry: new Registry() },
    () => adapter,
    {
      concurrency: 2,
      leaseMs: 60_000,
      sendBudgetMs: 5_000,
      environment: 'test',
      firstReportMs: 500,
      retry: { baseMs: 1_000, longestMs: 60_000, tries: 3 },
      dice: () => {
        throw new Error('no dice');
      },
    },
    new RouteLimiter(undefined, { report: async () => ({ processes: 1, onRedis: 0, place: 0 }) }, log),
  );
  try {
    while ((await submitter.round('transactional')) === 'some') await submitter.drain();
    expect(unheard).toEqual([]);
  } finally {
    process.off('unhandledRejection', hear);
  }
  expect(errors.mock.calls.map(([, event]) => event)).toEqual(['outcome_lost', 'outcome_lost', 'outcome_lost']);
  expect(
    await rowsOf(pool, 'select state, count(*)::int as rows from sendledger.outbound_message group by 1 order by 1'),
  ).toEqual([
    { state: 'claimed', rows: 3 },
    { state: 'submitted', rows: 6 },
  ]);
});
