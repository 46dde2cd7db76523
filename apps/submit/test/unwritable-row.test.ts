import { claim, markNext, rowsOf, type SubmissionOutcome } from '@sendledger/core/ledger';
import { createLog } from '@sendledger/worker';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { enqueue, scene } from '../../../packages/core/test/ledger/scene.ts';
import { writeOutcomes } from '../src/write-outcomes.ts';

const COUNT = 40;
const log = createLog('submit', 'silent', 'test');

describe('one row of a batch that cannot be written', () => {
  for (const places of [[0], [17], [39], [3, 4, 30]])
    test(`at ${places.join(', ')}: it is unknown and reviewed, and the others of its request are submitted and billed`, async ({
      freshDatabase: { pool },
    }) => {
      const s = await scene(pool, { maxBatch: COUNT });
      const numbers = Array.from({ length: COUNT }, (_, i) => `91900000${String(i).padStart(4, '0')}`);
      await enqueue(
        pool,
        numbers.map((recipient) => ({ recipient, route: s.name })),
      );
      const lane = { routeId: s.routeId, messageClass: 'transactional' as const };
      await claim(pool, { ...lane, limit: COUNT, leaseMs: 20_000, workerId: s.worker.id });
      const [submission] = await markNext(pool, {
        ...lane,
        limit: 1,
        leaseMs: 60_000,
        workerId: s.worker.id,
        environment: s.environment,
      });
      if (submission === undefined) throw new Error('nothing marked');
      const poisoned = places.map((place) => numbers[place] ?? '');
      await pool.query(`create function raise_23505() returns trigger language plpgsql as $$
        begin raise exception using errcode = '23505', message = 'no'; end $$`);
      await pool.query(
        `create trigger refused before update on sendledger.outbound_message for each row
           when (new.recipient in (${poisoned.map((n) => `'${n}'`).join(', ')}) and new.state = 'submitted')
           execute function raise_23505()`,
      );
      const outcome: SubmissionOutcome = {
        id: submission.id,
        createdAt: submission.createdAt,
        leaseToken: submission.leaseToken,
        state: 'accepted',
        reason: 'accepted',
        proof: null,
        providerTxnId: '6305583318236810379',
        statusCode: '200',
        httpStatus: 200,
        rawReply: null,
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
      };
      expect(await writeOutcomes(pool, log, [outcome])).toMatchObject({ rows: COUNT, stale: [] });
      expect(
        await rowsOf(
          pool,
          `select state, count(*)::int as rows, count(cost)::int as billed from sendledger.outbound_message group by state order by state`,
        ),
      ).toEqual([
        { state: 'submitted', rows: COUNT - places.length, billed: COUNT - places.length },
        { state: 'unknown', rows: places.length, billed: 0 },
      ]);
      expect(
        await rowsOf(
          pool,
          `select m.recipient from sendledger.review_item v join sendledger.outbound_message m on m.id = v.message_id
           where v.kind = 'outcome_not_writable' order by m.recipient`,
        ),
      ).toEqual(poisoned.map((recipient) => ({ recipient })));
    });
});
