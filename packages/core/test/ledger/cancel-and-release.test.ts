import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  type CancelAnswer,
  cancelMessage,
  cancelOnce,
  claim,
  durably,
  markNext,
  release,
  releaseClaimedBy,
  rowsOf,
  type Sql,
  sweepOpenLeases,
} from '../../src/ledger/index.ts';
import { asRow, insertRow, submissionIn } from '../schema/rows.ts';
import { claimRequest, markRequest, only } from './on-the-way.ts';
import { type EnqueuedRow, enqueue, type Scene, scene, stateOf } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

/** A claim of one row as far as its commit, under a lease that has run out already. */
async function claimInFlight(client: pg.PoolClient, s: Scene, message: EnqueuedRow): Promise<EnqueuedRow> {
  await client.query('begin');
  const columns = { claimed_by: s.worker.id, lease_until: new Date(Date.now() - 1_000) };
  const submission = asRow(await insertRow(client, 'submission', submissionIn('open', s.routeId, { columns })));
  await client.query(
    `update sendledger.outbound_message set state = 'claimed', claimed_at = now(), submission_id = $2, submission_created_at = $3,
       quoted_units = 1, quoted_cost = 0.1225, quoted_currency = 'INR' where id = $1`,
    [message.id, submission.id, submission.created_at],
  );
  return { id: submission.id, createdAt: submission.created_at };
}

/** `before` runs once, ahead of the first statement that writes a submission. */
function interruptedBeforeRelease(sql: Sql, before: () => Promise<void>): Sql {
  let done = false;
  return {
    async query(text, values) {
      if (!done && text.includes(`set state = 'released'`)) {
        done = true;
        await before();
      }
      return sql.query(text, values);
    },
  };
}

/** The rounds of cancelMessage, each a transaction of `client`. */
async function cancelInRounds(client: pg.PoolClient, sql: Sql, message: EnqueuedRow): Promise<CancelAnswer> {
  for (;;) {
    await client.query('begin');
    const answer = await cancelOnce(sql, message);
    await client.query('commit');
    if (answer !== 'again') return answer;
  }
}

describe('a cancellation that waited for a claim, while what was claimed is given back', () => {
  const releases: Readonly<Record<string, (sql: Sql, s: Scene, submission: EnqueuedRow) => Promise<unknown>>> = {
    'by name': (sql, _s, submission) => release(sql, [submission]),
    'by a shutdown': (sql, s) => releaseClaimedBy(sql, s.worker.id, 1000),
    'by the sweep of leases': (sql) => sweepOpenLeases(sql, 1000),
  };
  for (const [how, giveBack] of Object.entries(releases))
    test(`${how}: neither is the victim of a deadlock, and the message is cancelled`, async ({
      freshDatabase: { pool },
    }) => {
      const s = await scene(pool);
      const message = only(await enqueue(pool, [{ route: s.name }]));
      const [claimer, canceller, releaser] = [await pool.connect(), await pool.connect(), await pool.connect()];
      try {
        const submission = await claimInFlight(claimer, s, message);
        let released: Promise<unknown> = Promise.resolve();
        const sql = interruptedBeforeRelease(canceller, async () => {
          await releaser.query('begin');
          released = giveBack(releaser, s, submission).then(() => releaser.query('commit'));
          await untilWaiting(pool, releaser, released);
        });
        // Comes to the row while it is being claimed, waits, and finds that it has moved on.
        const cancelling = cancelInRounds(canceller, sql, message);
        expect(await untilWaiting(pool, canceller, cancelling)).toBe('waits');
        await claimer.query('commit');
        expect(await cancelling).toBe('cancelled');
        await released;
      } finally {
        for (const client of [claimer, canceller, releaser]) {
          await client.query('rollback');
          client.release();
        }
      }
      expect(await stateOf(pool, message.id)).toBe('cancelled');
    });
});

test('many cancellations among claims, marks, shutdowns and sweeps of the same rows: no deadlock, no message both ways', async ({
  freshDatabase: { pool },
}) => {
  const s = await scene(pool, { maxBatch: 3 });
  const messages = await enqueue(
    pool,
    Array.from({ length: 60 }, (_, i) => ({ route: s.name, recipient: `9190000001${String(i).padStart(2, '0')}` })),
  );
  let answered = 0;
  let marked = 0;
  let asking = true;
  // Until every cancellation has its answer the others keep moving the rows to and fro; one lease in two runs out at once.
  const meanwhile = async (work: (turn: number) => Promise<unknown>) => {
    for (let turn = 0; asking; turn++) await work(turn);
  };
  const cancelAll = async (own: readonly EnqueuedRow[]) => {
    for (const message of own) {
      const answer = await cancelMessage(pool, {
        tenantId: 'shop',
        message,
        requestedBy: 'test',
        reason: 'changed my mind',
      });
      expect(['cancelled', 'too_late']).toContain(answer);
      answered++;
      // A mark now and then, so that some of them come too late.
      if (answered % 20 === 0) marked += (await markNext(pool, markRequest(s, 'transactional', 1))).length;
    }
  };
  const third = (n: number) => messages.filter((_, i) => i % 3 === n);
  const work: Promise<unknown>[] = [
    Promise.all([0, 1, 2].map((n) => cancelAll(third(n)))).finally(() => {
      asking = false;
    }),
    meanwhile((turn) => claim(pool, { ...claimRequest(s), limit: 7, leaseMs: turn % 2 === 0 ? 0 : 600_000 })),
    meanwhile((turn) => claim(pool, { ...claimRequest(s), limit: 5, leaseMs: turn % 2 === 0 ? 600_000 : 0 })),
    meanwhile(() => durably(pool, (sql) => sweepOpenLeases(sql, 4))),
    meanwhile(() => durably(pool, (sql) => releaseClaimedBy(sql, s.worker.id, 3))),
  ];
  const failed = (await Promise.allSettled(work)).filter((r) => r.status === 'rejected').map((r) => r.reason);
  expect(failed).toEqual([]);

  const rows = await rowsOf<{ state: string; size: number; submission: string | null }>(
    pool,
    `select m.state, s.state as submission, s.size from sendledger.outbound_message m
     left join sendledger.submission s on s.id = m.submission_id`,
  );
  // What is not cancelled is under a mark, and what is cancelled is under none.
  expect(rows.filter((row) => row.state !== 'cancelled' && row.submission !== 'marked')).toEqual([]);
  expect(rows.filter((row) => row.state === 'cancelled' && row.submission !== null)).toEqual([]);
  expect(rows).toHaveLength(messages.length);
  expect(new Set(rows.map((row) => row.state))).toContain('cancelled');
  if (marked === 0) expect(rows.every((row) => row.state === 'cancelled')).toBe(true);
});
