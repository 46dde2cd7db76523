import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import type { MessageState, SubmissionState } from '../../src/domain/state.ts';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene } from '../ledger/scene.ts';
import {
  asImport,
  COST,
  importMessage,
  importSubmission,
  insertRow,
  leafOf,
  messageIn,
  type Row,
  refusalOf,
} from './rows.ts';

const SET_COST = "billable_units = 1, cost = 0.1225, cost_currency = 'INR', cost_source = 'quote'";
const REFUSED = { code: '23514', constraint: 'cost_has_its_state' };

const UNBILLED: readonly [MessageState, SubmissionState | null][] = [
  ['pending', null],
  ['claimed', 'open'],
  ['claimed', 'marked'],
  ['claimed', 'accepted'],
  ['retry', 'refused'],
  ['unknown', 'ambiguous'],
];

async function rowIn(pool: pg.Pool, state: MessageState, under: SubmissionState | null): Promise<Row> {
  const { routeId } = await scene(pool);
  return importMessage(pool, state, routeId, under === null ? null : await importSubmission(pool, under, routeId));
}

const costOf = (pool: pg.Pool, { id }: Row) =>
  rowsOf(pool, 'select cost, cost_source from sendledger.outbound_message where id = $1', [id]);

describe('what was not accepted is not billed', () => {
  for (const [state, under] of UNBILLED) {
    const what = under === null ? state : `${state} under ${under}`;

    test(`no cost is written on a row that is ${what}, by the submit role or the superuser`, async ({ database }) => {
      const row = await rowIn(database.pool, state, under);
      const submit = new pg.Pool({ connectionString: database.urlFor('sendledger_submit'), max: 1 });
      try {
        expect(
          await refusalOf(submit, `update sendledger.outbound_message set ${SET_COST} where id = $1`, [row.id]),
        ).toMatchObject(REFUSED);
      } finally {
        await submit.end();
      }
      for (const table of ['sendledger.outbound_message', leafOf('outbound_message', row.created_at)])
        expect(await refusalOf(database.pool, `update ${table} set ${SET_COST} where id = $1`, [row.id])).toMatchObject(
          REFUSED,
        );
      expect(await costOf(database.pool, row)).toEqual([{ cost: null, cost_source: null }]);
    });
  }

  test('nor with the move that makes it unknown or due again', async ({ database: { pool } }) => {
    for (const [to, under] of [
      ['unknown', 'ambiguous'],
      ['unknown', 'accepted'],
      ['retry', 'refused'],
      ['pending', 'released'],
    ] as const) {
      const row = await rowIn(pool, 'claimed', under);
      const unset = to === 'pending' ? ', submission_id = null, submission_created_at = null' : '';
      expect(
        await refusalOf(
          pool,
          `update sendledger.outbound_message set state = '${to}', ${SET_COST}${unset} where id = $1`,
          [row.id],
        ),
        to,
      ).toMatchObject(REFUSED);
    }
  });

  test('nor by an import, nor in a month that is made later', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const marked = await importSubmission(pool, 'marked', routeId);
    const longAgo = new Date(Date.now() - 62 * 86_400_000);
    await pool.query('select sendledger.create_month($1::date)', [longAgo]);
    for (const created_at of [new Date(), longAgo])
      await expect(
        asImport(pool, (sql) =>
          insertRow(sql, 'outbound_message', messageIn('claimed', routeId, marked, { ...COST, created_at })),
        ),
      ).rejects.toMatchObject(REFUSED);
  });
});

describe('what was accepted, or is final, may have a cost', () => {
  test('a row takes it with the move to submitted', async ({ database: { pool } }) => {
    const row = await rowIn(pool, 'claimed', 'accepted');
    expect(
      await refusalOf(pool, `update sendledger.outbound_message set state = 'submitted', ${SET_COST} where id = $1`, [
        row.id,
      ]),
    ).toBeUndefined();
    expect(await costOf(pool, row)).toEqual([{ cost: '0.1225', cost_source: 'quote' }]);
  });

  for (const [state, under] of [
    ['failed', 'ambiguous'],
    ['rejected', 'refused'],
    ['expired', 'ambiguous'],
  ] as const)
    test(`later evidence bills a row that is ${state}, once`, async ({ database: { pool } }) => {
      const row = await rowIn(pool, state, under);
      const bill = (cost: string) =>
        refusalOf(
          pool,
          `update sendledger.outbound_message set billable_units = 1, cost = ${cost}, cost_currency = 'INR', cost_source = 'evidence'
           where id = $1`,
          [row.id],
        );
      expect(await bill('0.1225')).toBeUndefined();
      expect(await bill('0.2')).toMatchObject({ constraint: 'guard: cost' });
    });
});
