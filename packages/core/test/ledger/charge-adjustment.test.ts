import { test as base } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  type Adjustment,
  applyOutcomes,
  durably,
  ledgerSummary,
  messageStory,
  type RowRef,
  recordAdjustment,
  rowsOf,
} from '../../src/ledger/index.ts';
import { marked, only, outcomeOf } from './on-the-way.ts';
import { scene } from './scene.ts';

const test = base.extend('cli', { scope: 'file' }, async ({ database }, { onCleanup }) => {
  const pool = new pg.Pool({ connectionString: database.urlFor('sendledger_cli'), max: 4 });
  onCleanup(() => pool.end());
  return pool;
});

/** One message that cost 0.1225 INR, or one whose fate and cost nobody knows. */
async function message(pool: pg.Pool, state: 'accepted' | 'ambiguous' = 'accepted'): Promise<RowRef> {
  const m = only(await marked(pool, await scene(pool)));
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, state)]));
  const { id, createdAt } = only(m.rows);
  return { id, createdAt };
}

const book = (pool: pg.Pool, about: RowRef, change: Partial<Adjustment> = {}) =>
  durably(pool, (sql) =>
    recordAdjustment(sql, {
      message: about,
      amount: '0.1',
      currency: 'INR',
      kind: 'refund',
      evidence: 'credit note 7',
      by: 'asha',
      ...change,
    }),
  );

const booked = (pool: pg.Pool, about: RowRef) =>
  rowsOf<Record<string, unknown>>(
    pool,
    'select amount, currency, kind, evidence, created_by from sendledger.charge_adjustment where message_id = $1 order by id',
    [about.id],
  );

describe('a refund', () => {
  test('is booked beside the cost, which stays; the same evidence again is the same refund', async ({
    database: { pool },
    cli,
  }) => {
    const about = await message(pool);
    expect(await book(cli, about)).toEqual({ answer: 'booked', left: '0.0225', currency: 'INR' });
    expect(await book(cli, about)).toEqual({ answer: 'already_booked', amount: '-0.1000', currency: 'INR' });
    expect(await book(cli, about, { amount: '0.02' })).toMatchObject({ answer: 'already_booked', amount: '-0.1000' });
    expect(await booked(pool, about)).toEqual([
      { amount: '-0.1000', currency: 'INR', kind: 'refund', evidence: 'credit note 7', created_by: 'asha' },
    ]);
    expect(
      await rowsOf(pool, 'select cost, cost_source from sendledger.outbound_message where id = $1', [about.id]),
    ).toEqual([{ cost: '0.1225', cost_source: 'quote' }]);
    const story = await messageStory(cli, about);
    expect(story?.message.cost).toBe('0.1225');
    expect(story?.adjustments).toMatchObject([{ kind: 'refund', amount: '-0.1000', reference: 'credit note 7' }]);
    expect(story?.decisions).toMatchObject([{ who: 'asha', action: 'refund', why: 'credit note 7' }]);
  });

  test('may not give back more than is left, in one or in several', async ({ database: { pool }, cli }) => {
    const about = await message(pool);
    expect(await book(cli, about, { amount: '0.1226' })).toEqual({
      answer: 'more_than_left',
      left: '0.1225',
      currency: 'INR',
    });
    expect(await book(cli, about, { amount: '0.1225' })).toEqual({ answer: 'booked', left: '0.0000', currency: 'INR' });
    expect(await book(cli, about, { amount: '0.0001', evidence: 'credit note 8' })).toMatchObject({
      answer: 'more_than_left',
      left: '0.0000',
    });
    // A correction upwards makes room again.
    expect(await book(cli, about, { amount: '0.05', kind: 'correction', evidence: 'invoice 3' })).toMatchObject({
      answer: 'booked',
    });
    expect(await book(cli, about, { amount: '-0.06', kind: 'correction', evidence: 'invoice 4' })).toMatchObject({
      answer: 'more_than_left',
    });
    expect(await book(cli, about, { amount: '0.05', evidence: 'credit note 9' })).toMatchObject({
      answer: 'booked',
      left: '0.0000',
    });
  });

  test('many at once give back no more than there was', async ({ database: { pool }, cli }) => {
    const about = await message(pool);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => book(cli, about, { amount: '0.05', evidence: `note ${i % 6}` })),
    );
    expect(answers.filter((a) => a.answer === 'booked')).toHaveLength(2);
    expect(await booked(pool, about)).toHaveLength(2);
  });

  test('of another currency, of a message without a cost, of none at all', async ({ database: { pool }, cli }) => {
    const about = await message(pool);
    expect(await book(cli, about, { currency: 'USD' })).toEqual({ answer: 'other_currency', currency: 'INR' });
    expect(await book(cli, await message(pool, 'ambiguous'))).toEqual({ answer: 'no_cost' });
    expect(await book(cli, { id: '99999999', createdAt: new Date() })).toEqual({ answer: 'not_found' });
    expect(await booked(pool, about)).toEqual([]);
  });

  test('that is no amount, or has no name or evidence, is refused before anything is asked', async ({
    database: { pool },
    cli,
  }) => {
    const about = await message(pool);
    for (const amount of ['', '0', '0.00', '-0.1', '1e-2', '0.12345', '0,12', ' 0.1', 'NaN', '123456789'])
      await expect(book(cli, about, { amount })).rejects.toMatchObject({ code: 'SENDLEDGER_AMOUNT_INVALID' });
    for (const change of [{ by: '' }, { evidence: ' ' }])
      await expect(book(cli, about, change)).rejects.toMatchObject({ code: 'SENDLEDGER_REASON_NEEDED' });
    expect(await booked(pool, about)).toEqual([]);
  });

  test('stands beside the cost of its currency in the summary', async ({ freshDatabase: { pool } }) => {
    const about = await message(pool);
    const billed = async (since = new Date(0)) => (await ledgerSummary(pool, since)).billed;
    expect(await billed()).toEqual([{ currency: 'INR', cost: '0.1225', units: '1', adjusted: '0.0000' }]);
    await book(pool, about);
    expect(await billed()).toEqual([{ currency: 'INR', cost: '0.1225', units: '1', adjusted: '-0.1000' }]);
    expect(await billed(new Date(Date.now() + 60_000))).toEqual([]);
  });
});
