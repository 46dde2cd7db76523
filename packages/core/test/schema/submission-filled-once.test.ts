import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import type { MessageClass, MessageState, SubmissionState } from '../../src/domain/state.ts';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene, stateOf } from '../ledger/scene.ts';
import { importMessage, importSubmission, leafOf, type Row, refusalOf } from './rows.ts';

/** How rows leave `claimed`, and under which state of their submission. */
const LEAVING: readonly { to: MessageState; under: SubmissionState; set: string }[] = [
  { to: 'pending', under: 'released', set: '' },
  { to: 'retry', under: 'refused', set: '' },
  { to: 'rejected', under: 'refused', set: '' },
  { to: 'unknown', under: 'ambiguous', set: '' },
  {
    to: 'submitted',
    under: 'accepted',
    set: `, billable_units = case when id = any ($4::bigint[]) then 1 end, cost = case when id = any ($4::bigint[]) then 0.1225 end,
        cost_currency = case when id = any ($4::bigint[]) then 'INR' end,
        cost_source = case when id = any ($4::bigint[]) then 'quote'::sendledger.cost_source end`,
  },
];

/** One statement in which `enter` are claimed into a submission and `leave` go out of `claimed` in their own. */
function bothWays(table: string, leaving: (typeof LEAVING)[number]): string {
  const entering = 'id = any ($1::bigint[])';
  const submission = (column: string, given: string) =>
    `${column} = case when ${entering} then ${given} ${leaving.to === 'pending' ? '' : `else ${column}`} end`;
  return `update ${table} set
      state = case when ${entering} then 'claimed' else '${leaving.to}' end::sendledger.message_state,
      claimed_at = coalesce(claimed_at, now()),
      ${submission('submission_id', '$2::bigint')}, ${submission('submission_created_at', '$3::timestamptz')},
      quoted_units = coalesce(quoted_units, 1), quoted_cost = coalesce(quoted_cost, 0.1225), quoted_currency = coalesce(quoted_currency, 'INR')
      ${leaving.set}
    where ${entering} or id = any ($4::bigint[])`;
}

async function held(pool: pg.Pool, submission: Row): Promise<number> {
  const [row] = await rowsOf<{ n: number }>(
    pool,
    'select count(*)::int as n from sendledger.outbound_message where submission_id = $1',
    [submission.id],
  );
  return row?.n ?? 0;
}

async function pending(pool: pg.Pool, routeId: string, count: number, messageClass: MessageClass): Promise<Row[]> {
  const rows: Row[] = [];
  for (let i = 0; i < count; i++)
    rows.push(
      await importMessage(pool, 'pending', routeId, null, {
        recipient: `91900000000${i}`,
        message_class: messageClass,
      }),
    );
  return rows;
}

const idsOf = (rows: readonly Row[]) => rows.map((row) => row.id);

for (const [messageClass, size] of [
  ['transactional', 1],
  ['transactional', 2],
  ['otp', 1],
] as const)
  describe(`a submission of ${size} ${messageClass}`, () => {
    for (const leaving of LEAVING)
      for (const target of ['parent', 'leaf'] as const)
        for (const leavers of [size, size + 1])
          test(`is not filled again by a statement that moves ${leavers} other rows to ${leaving.to}, on the ${target}`, async ({
            database: { pool },
          }) => {
            const { routeId } = await scene(pool);
            const full = await importSubmission(pool, 'open', routeId, { size, messageClass });
            const columns = { message_class: messageClass };
            for (let i = 0; i < size; i++)
              await importMessage(pool, 'claimed', routeId, full, { recipient: `91900000010${i}`, ...columns });
            const others: Row[] = [];
            for (let i = 0; i < leavers; i++) {
              const own = await importSubmission(pool, leaving.under, routeId, { messageClass });
              others.push(
                await importMessage(pool, 'claimed', routeId, own, { recipient: `91900000020${i}`, ...columns }),
              );
            }
            const more = await pending(pool, routeId, size, messageClass);
            const table =
              target === 'leaf' ? leafOf('outbound_message', full.created_at) : 'sendledger.outbound_message';
            const statement = bothWays(table, leaving);
            expect(
              await refusalOf(pool, statement, [idsOf(more), full.id, full.created_at, idsOf(others)]),
            ).toMatchObject({ code: '23514', constraint: 'guard: submission' });
            expect(await held(pool, full)).toBe(size);
            expect(await stateOf(pool, others[0]?.id ?? '')).toBe('claimed');

            // The same statement into a submission of its own is what a sweep may do: nothing else was wrong with it.
            const fresh = await importSubmission(pool, 'open', routeId, { size, messageClass });
            expect(
              await refusalOf(pool, statement, [idsOf(more), fresh.id, fresh.created_at, idsOf(others)]),
            ).toBeUndefined();
            expect(await held(pool, fresh)).toBe(size);
          });
  });

test('of two that one statement fills, neither was filled before', async ({ database: { pool } }) => {
  const { routeId } = await scene(pool);
  const full = await importSubmission(pool, 'open', routeId);
  await importMessage(pool, 'claimed', routeId, full, { recipient: '919000000100' });
  const fresh = await importSubmission(pool, 'open', routeId);
  const rows = await pending(pool, routeId, 2, 'transactional');
  const fill = `update sendledger.outbound_message m set state = 'claimed', claimed_at = now(), quoted_units = 1,
      quoted_cost = 0.1225, quoted_currency = 'INR',
      submission_id = ($2::bigint[])[array_position($1::bigint[], m.id)],
      submission_created_at = ($3::timestamptz[])[array_position($1::bigint[], m.id)]
    where m.id = any ($1::bigint[])`;
  const into = (targets: readonly Row[]) => [idsOf(rows), idsOf(targets), targets.map((t) => t.created_at)];
  expect(await refusalOf(pool, fill, into([full, fresh]))).toMatchObject({ constraint: 'guard: submission' });
  const other = await importSubmission(pool, 'open', routeId);
  expect(await refusalOf(pool, fill, into([other, fresh]))).toBeUndefined();
});
