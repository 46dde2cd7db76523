import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import type { SubmissionState } from '../../src/domain/state.ts';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene, stateOf } from '../ledger/scene.ts';
import { importMessage, importSubmission, leafOf, type Row, refusalOf } from './rows.ts';

const GUARD = { code: '23514', constraint: 'guard: guard_update' };
const OUTCOMES = ['accepted', 'refused', 'not_sent', 'ambiguous'] as const;

/** A claimed message whose request may be on the wire, or may have been: the one that must not go back to the queue. */
async function onTheWire(pool: pg.Pool, state: 'marked' | 'ambiguous'): Promise<{ submission: Row; message: Row }> {
  const { routeId } = await scene(pool);
  const submission = await importSubmission(pool, state, routeId, {
    columns: state === 'ambiguous' ? { responded_at: new Date(), outcome_reason: 'lease_expired' } : {},
  });
  return { submission, message: await importMessage(pool, 'claimed', routeId, submission) };
}

async function submissionState(pool: pg.Pool, { id }: Row): Promise<SubmissionState | undefined> {
  const [row] = await rowsOf<{ state: SubmissionState }>(
    pool,
    'select state from sendledger.submission where id = $1',
    [id],
  );
  return row?.state;
}

async function asLogin<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

describe('a role that may write the state of a submission and nothing of its outcome', () => {
  for (const role of ['sendledger_cli', 'sendledger_ops', 'sendledger_claim'])
    for (const from of ['marked', 'ambiguous'] as const)
      test(`${role} makes no outcome out of ${from}, and the message stays`, async ({ database }) => {
        const { submission, message } = await onTheWire(database.pool, from);
        await asLogin(database.urlFor(role), async (pool) => {
          for (const to of OUTCOMES.filter((state) => state !== from))
            for (const table of ['sendledger.submission', leafOf('submission', submission.created_at)])
              expect(
                // A leaf is not granted to these roles: refused all the same, by privilege.
                await refusalOf(pool, `update ${table} set state = '${to}' where id = $1`, [submission.id]),
                `${table} ${to}`,
              ).toMatchObject(table === 'sendledger.submission' ? GUARD : { code: '42501' });
          expect(
            await refusalOf(pool, `update sendledger.outbound_message set state = 'retry' where id = $1`, [message.id]),
          ).toMatchObject({ code: '23514', constraint: 'guard: submission' });
        });
        expect(await submissionState(database.pool, submission)).toBe(from);
        expect(await stateOf(database.pool, message.id)).toBe('claimed');
      });
});

describe('an outcome by raw SQL, by whoever', () => {
  const proof = (to: SubmissionState) => (to === 'not_sent' ? ", outcome_proof = 'no_connection'" : '');
  const incomplete: readonly [string, string][] = [
    ['with nothing', ''],
    ['with a reason and no time', ", outcome_reason = 'said so'"],
    ['with a time and no reason', ', responded_at = clock_timestamp(), outcome_reason = null'],
    ['with the time and the reason that are there', ', responded_at = responded_at, outcome_reason = outcome_reason'],
    ['with the time unset', ", responded_at = null, outcome_reason = 'said so'"],
  ];

  for (const from of ['marked', 'ambiguous'] as const)
    for (const to of OUTCOMES.filter((state) => state !== from)) {
      for (const [what, set] of incomplete)
        test(`${from} to ${to} ${what} is refused`, async ({ database: { pool } }) => {
          const { submission } = await onTheWire(pool, from);
          for (const table of ['sendledger.submission', leafOf('submission', submission.created_at)])
            expect(
              await refusalOf(pool, `update ${table} set state = '${to}'${proof(to)}${set} where id = $1`, [
                submission.id,
              ]),
              table,
            ).toMatchObject(GUARD);
          expect(await submissionState(pool, submission)).toBe(from);
        });

      test(`${from} to ${to} with a new time and a reason is an outcome`, async ({ database: { pool } }) => {
        const { submission } = await onTheWire(pool, from);
        expect(
          await refusalOf(
            pool,
            `update sendledger.submission set state = '${to}'${proof(to)}, responded_at = clock_timestamp(), outcome_reason = 'said so'
             where id = $1`,
            [submission.id],
          ),
        ).toBeUndefined();
        expect(await submissionState(pool, submission)).toBe(to);
      });
    }
});
