import { type MarkedSubmission, rowsOf, type SubmissionOutcome } from '@sendledger/core/ledger';
import { createLog } from '@sendledger/worker';
import type pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { judgeOutcome } from '../src/judge-outcome.ts';
import { writeOutcomes } from '../src/write-outcomes.ts';
import { markedSubmissions } from './marked-submissions.ts';

const POLICY = { retry: { baseMs: 1000, longestMs: 60_000, tries: 3 }, firstReportMs: 500, dice: () => 0.5 };
const COUNT = 7;
const log = createLog('submit', 'silent', 'test');

function accepted(submission: MarkedSubmission): SubmissionOutcome {
  const reply = { httpStatus: 200, raw: Buffer.from('{}'), statusCode: '200', reason: 'success' };
  return judgeOutcome(
    submission,
    {
      ...{ kind: 'accepted' as const, providerTxnId: `630558331823681${submission.id}`, reply },
      rejected: [],
      unaccounted: [],
      strangers: [],
    },
    POLICY,
    0,
  );
}

/** From now on the database refuses to write these submissions, and the review items of them if wanted. */
async function refuse(pool: pg.Pool, of: readonly MarkedSubmission[], what: { states: string; reviews: boolean }) {
  await pool.query(`create function raise_23514() returns trigger language plpgsql as $$
    begin raise exception using errcode = '23514', message = 'no'; end $$`);
  await pool.query(
    `create trigger refused before update on sendledger.submission for each row
       when (new.id in (${of.map((s) => s.id).join(', ')}) and new.state in (${what.states})) execute function raise_23514()`,
  );
  if (what.reviews)
    await pool.query(
      'create trigger refused before insert on sendledger.review_item for each row execute function raise_23514()',
    );
}

async function statesOf(pool: pg.Pool, submissions: readonly MarkedSubmission[]) {
  const rows = await rowsOf<{ submission: string; state: string; cost: string | null }>(
    pool,
    'select submission_id as submission, state, cost from sendledger.outbound_message',
  );
  return submissions.map(({ id }) => {
    const row = rows.find(({ submission }) => submission === id);
    return [row?.state, row?.cost];
  });
}

const SUBMITTED = ['submitted', '0.1225'];
const reviews = (pool: pg.Pool) => rowsOf(pool, 'select kind, subject from sendledger.review_item order by subject');

describe('an outcome that cannot be written', () => {
  // First, in the middle, last; two of them; all of them: bisection meets them at every depth.
  for (const places of [[0], [3], [6], [2, 5], [0, 1, 2, 3, 4, 5, 6]])
    for (const failing of [false, true])
      test(`at ${places.join(', ')} of ${COUNT}${failing ? ', nor its review' : ''}: the others are written, and nothing is thrown`, async ({
        freshDatabase: { pool },
      }) => {
        const submissions = await markedSubmissions(pool, COUNT);
        const bad = submissions.filter((_, i) => places.includes(i));
        await refuse(pool, bad, {
          states: `'accepted', 'refused', 'not_sent', 'ambiguous'`,
          reviews: failing,
        });
        const applied = await writeOutcomes(pool, log, submissions.map(accepted));
        expect([...applied.stale].sort()).toEqual(bad.map((s) => s.id).sort());
        expect(applied.rows).toBe(COUNT - bad.length);
        expect(await statesOf(pool, submissions)).toEqual(
          // Still claimed under their mark: the end of the lease makes them unknown.
          submissions.map((_, i) => (places.includes(i) ? ['claimed', null] : SUBMITTED)),
        );
        expect(await reviews(pool)).toEqual(
          failing
            ? []
            : bad
                .map((s) => ({ kind: 'outcome_not_writable', subject: `submission ${s.id}` }))
                .sort((a, b) => (a.subject < b.subject ? -1 : 1)),
        );
      });

  test('as what it is leaves its rows unknown, where at least that can be written', async ({
    freshDatabase: { pool },
  }) => {
    const submissions = await markedSubmissions(pool, COUNT);
    await refuse(pool, submissions.slice(2, 3), { states: `'accepted'`, reviews: true });
    await writeOutcomes(pool, log, submissions.map(accepted));
    expect(await statesOf(pool, submissions)).toEqual(
      submissions.map((_, i) => (i === 2 ? ['unknown', null] : SUBMITTED)),
    );
  });
});

describe('what the provider wrote and the database cannot hold', () => {
  const spoiled: Readonly<Record<string, (outcome: SubmissionOutcome) => SubmissionOutcome>> = {
    'a NUL in the status code': (o) => ({ ...o, statusCode: '2\u000000' }),
    'a NUL in the reason': (o) => ({ ...o, reason: 'a\u0000b' }),
    'a NUL in the transaction id': (o) => ({ ...o, providerTxnId: `\u0000${o.providerTxnId}` }),
    'a NUL in the cause of a row': (o) => ({ ...o, rows: o.rows.map((row) => ({ ...row, cause: '\u0000' })) }),
    'half a surrogate pair': (o) => ({ ...o, statusCode: '\ud800', reason: '\udc00 tail' }),
    'more bytes than are kept': (o) => ({ ...o, rawReply: Buffer.alloc(70_000) }),
  };
  for (const [what, spoil] of Object.entries(spoiled))
    test(`${what}: it is written without that, and so are the others`, async ({ freshDatabase: { pool } }) => {
      const submissions = await markedSubmissions(pool, COUNT);
      const outcomes = submissions.map((s, i) => (i === 3 ? spoil(accepted(s)) : accepted(s)));
      expect(await writeOutcomes(pool, log, outcomes)).toMatchObject({ rows: COUNT, stale: [] });
      expect(await statesOf(pool, submissions)).toEqual(submissions.map(() => SUBMITTED));
      expect(await reviews(pool)).toEqual([]);
      // The id by which the report is read is still the provider's.
      const ids = await rowsOf<{ id: string; txn: string }>(
        pool,
        'select id, provider_txn_id as txn from sendledger.submission',
      );
      expect(ids.filter(({ id, txn }) => txn !== `630558331823681${id}`)).toEqual([]);
    });
});
