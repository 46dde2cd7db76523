import { type MarkedSubmission, rowsOf, type SubmissionOutcome } from '@sendledger/core/ledger';
import type { Outcome } from '@sendledger/gateway';
import { createLog } from '@sendledger/worker';
import type pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { judgeOutcome } from '../src/judge-outcome.ts';
import { writeOutcomes } from '../src/write-outcomes.ts';
import { markedSubmissions } from './marked-submissions.ts';

const POLICY = { retry: { baseMs: 1000, longestMs: 60_000, tries: 3 }, firstReportMs: 5_000, dice: () => 0.5 };
const log = createLog('submit', 'silent', 'test');
const reply = { httpStatus: 200, raw: Buffer.from('{}'), statusCode: '200', reason: 'success' };
const txnOf = (submission: MarkedSubmission) => `630558331823681${submission.id}`;

const judged = (submission: MarkedSubmission, outcome: Outcome): SubmissionOutcome =>
  judgeOutcome(submission, outcome, POLICY, 0);
const accepted = (submission: MarkedSubmission) =>
  judged(submission, {
    ...{ kind: 'accepted', providerTxnId: txnOf(submission), reply },
    ...{ rejected: [], unaccounted: [], strangers: [] },
  });

/** From now on no submission can be written as `when` says. */
async function refuse(pool: pg.Pool, when: string) {
  await pool.query(`create function raise_23514() returns trigger language plpgsql as $$
    begin raise exception using errcode = '23514', message = 'no'; end $$`);
  await pool.query(
    `create trigger refused before update on sendledger.submission for each row when (${when}) execute function raise_23514()`,
  );
}

const facts = (pool: pg.Pool) =>
  rowsOf<{ state: string; txn: string | null; looked: number | null; row: string; row_txn: string | null }>(
    pool,
    `select s.state, s.provider_txn_id as txn, round(extract(epoch from s.poll_at - s.responded_at))::integer as looked,
       m.state as row, m.provider_txn_id as row_txn
     from sendledger.submission s join sendledger.outbound_message m on m.submission_id = s.id order by s.id`,
  );
const breaker = async (pool: pg.Pool) =>
  (
    await rowsOf<{ state: string; failures: number }>(
      pool,
      'select breaker_state as state, breaker_failures as failures from sendledger.route',
    )
  )[0];

describe('what is set apart', () => {
  test('is looked for, by the transaction that the provider named, and counts as failures of its route', async ({
    freshDatabase: { pool },
  }) => {
    const submissions = await markedSubmissions(pool, 5);
    await refuse(pool, `new.state = 'accepted'`);
    const applied = await writeOutcomes(pool, log, submissions.map(accepted));
    expect(applied.breakers).toMatchObject([{ became: 'open', reason: 'ambiguous: outcome_not_writable' }]);
    expect(await breaker(pool)).toEqual({ state: 'open', failures: 5 });
    expect(await facts(pool)).toEqual(
      submissions.map((s) => ({ state: 'ambiguous', txn: txnOf(s), looked: 5, row: 'unknown', row_txn: txnOf(s) })),
    );
  });

  test('does without the transaction where that is what cannot be stored', async ({ freshDatabase: { pool } }) => {
    const submissions = await markedSubmissions(pool, 2);
    await refuse(pool, 'new.provider_txn_id is not null');
    await writeOutcomes(pool, log, submissions.map(accepted));
    expect(await facts(pool)).toEqual(
      submissions.map(() => ({ state: 'ambiguous', txn: null, looked: 5, row: 'unknown', row_txn: null })),
    );
    expect(await breaker(pool)).toMatchObject({ failures: 2 });
  });

  test('an id that is a placeholder is none', async ({ freshDatabase: { pool } }) => {
    const submissions = await markedSubmissions(pool, 1);
    await writeOutcomes(
      pool,
      log,
      submissions.map((s) => ({ ...accepted(s), providerTxnId: '0' })),
    );
    expect(await facts(pool)).toMatchObject([{ state: 'ambiguous', txn: null, row: 'unknown' }]);
  });

  test('also where it says nothing about its route and of no report: by what the lane says', async ({
    freshDatabase: { pool },
  }) => {
    const submissions = await markedSubmissions(pool, 1);
    await refuse(pool, `new.state = 'refused'`);
    const [submission] = submissions;
    if (submission === undefined) throw new Error('one was expected');
    const outcome = judged(submission, {
      ...{ kind: 'refused', scope: 'permanent', retryAfterMs: null },
      reply: { ...reply, httpStatus: null },
    });
    expect([outcome.breaker, outcome.pollInMs]).toEqual([undefined, null]);
    await writeOutcomes(pool, log, [outcome], { routeId: submission.routeId, pollInMs: 7_000 });
    expect(await breaker(pool)).toMatchObject({ failures: 1 });
    expect(await facts(pool)).toMatchObject([{ state: 'ambiguous', looked: 7 }]);
  });
});
