import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { FINAL_STATES, MESSAGE_STATES } from '../../src/domain/state.ts';
import { scene } from '../ledger/scene.ts';
import { type Columns, importMessage, importSubmission, leafOf, refusalOf } from './rows.ts';

const CONTENT: Readonly<Record<string, string>> = {
  recipient: "'918888888888'",
  channel: "'voice'",
  message_class: "'promotional'",
  sender_id: "'OTHER'",
  body: "'another text'",
  encoding: "'UCS2'",
  segments: '2',
  template_id: "'t2'",
  template_version: '2',
  template_params: "'{}'",
  dlt_entity_id: "'1'",
  dlt_template_id: "'1'",
};

const IDENTITY: Readonly<Record<string, string>> = {
  id: 'id + 1',
  created_at: "created_at + interval '1 ms'",
  tenant_id: "'other'",
  business_key: "'other'",
  attempt_key: 'gen_random_uuid()',
  event_type: "'other'",
  event_id: "'other'",
};

describe('what is sent and to whom is frozen from the first claim', () => {
  for (const [column, value] of Object.entries(CONTENT)) {
    test(`${column} changes before the claim`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const row = await importMessage(pool, 'pending', routeId, null);
      expect(
        await refusalOf(pool, `update sendledger.outbound_message set ${column} = ${value} where id = $1`, [row.id]),
      ).toBeUndefined();
    });

    test(`${column} does not change after it, in any state, on the parent or the leaf`, async ({
      database: { pool },
    }) => {
      const { routeId } = await scene(pool);
      const submission = await importSubmission(pool, 'ambiguous', routeId);
      for (const state of MESSAGE_STATES) {
        // A pending or superseded row that was claimed once: it was released, or imported with its past.
        const row = await importMessage(pool, state, routeId, submission, { claimed_at: new Date() });
        for (const table of ['sendledger.outbound_message', leafOf('outbound_message', row.created_at)])
          expect(
            await refusalOf(pool, `update ${table} set ${column} = ${value} where id = $1`, [row.id]),
            `${state} on ${table}`,
          ).toMatchObject({ code: '23514', constraint: 'guard: content' });
      }
    });
  }

  test('a claim cannot hide itself: claimed without claimed_at is refused', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const submission = await importSubmission(pool, 'open', routeId);
    const row = await importMessage(pool, 'pending', routeId, null);
    expect(
      await refusalOf(
        pool,
        `update sendledger.outbound_message set state = 'claimed', submission_id = $2, submission_created_at = $3,
           quoted_units = 1, quoted_cost = 1, quoted_currency = 'INR' where id = $1`,
        [row.id, submission.id, submission.created_at],
      ),
    ).toMatchObject({ code: '23514', constraint: 'claimed_has_submission' });
  });

  test('a release does not unset claimed_at', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const row = await importMessage(pool, 'claimed', routeId, await importSubmission(pool, 'released', routeId));
    expect(
      await refusalOf(
        pool,
        `update sendledger.outbound_message set state = 'pending', submission_id = null, submission_created_at = null, claimed_at = null
         where id = $1`,
        [row.id],
      ),
    ).toMatchObject({ code: '23514', constraint: 'guard: claimed_at' });
  });
});

describe('which message it is, is frozen from the insert', () => {
  for (const [column, value] of Object.entries(IDENTITY))
    test(column, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const row = await importMessage(pool, 'pending', routeId, null);
      for (const table of ['sendledger.outbound_message', leafOf('outbound_message', row.created_at)])
        expect(await refusalOf(pool, `update ${table} set ${column} = ${value} where id = $1`, [row.id])).toMatchObject(
          { code: '23514', constraint: 'guard: identity' },
        );
    });

  test('replaces_id is not filled in later', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const row = await importMessage(pool, 'pending', routeId, null);
    expect(
      await refusalOf(
        pool,
        `update sendledger.outbound_message set replaces_id = 1, replaces_created_at = now() where id = $1`,
        [row.id],
      ),
    ).toMatchObject({ code: '23514', constraint: 'guard: identity' });
  });

  test('a row does not move to another month', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const row = await importMessage(pool, 'failed', routeId, null);
    expect(
      await refusalOf(
        pool,
        `update sendledger.outbound_message set created_at = created_at + interval '1 month' where id = $1`,
        [row.id],
      ),
    ).toMatchObject({ code: '23514', constraint: 'guard: identity' });
  });
});

describe('money', () => {
  const refused: readonly [string, Columns, string, string][] = [
    ['a cost is not changed', {}, 'cost = 99', 'guard: cost'],
    ['a cost is not unset', {}, 'cost = null, billable_units = null, cost_currency = null', 'guard: cost'],
    ['units are not changed', {}, 'billable_units = 7', 'guard: cost'],
    ['the currency is not changed', {}, "cost_currency = 'USD'", 'guard: cost'],
    ['where the cost came from is not rewritten', {}, "cost_source = 'person'", 'guard: cost'],
    ['the quote is frozen', {}, 'quoted_cost = 99', 'guard: quote'],
    ['the quoted units are frozen', {}, 'quoted_units = 9', 'guard: quote'],
    ['the quoted currency is frozen', {}, "quoted_currency = 'USD'", 'guard: quote'],
    ['attempts do not jump', {}, 'attempt_count = attempt_count + 2', 'guard: attempts'],
    ['attempts do not go back', { attempt_count: 1 }, 'attempt_count = 0', 'guard: attempts'],
    ['the transaction id is not overwritten', { provider_txn_id: '7' }, "provider_txn_id = '8'", 'guard: set once'],
    ['the transaction id is not unset', { provider_txn_id: '7' }, 'provider_txn_id = null', 'guard: set once'],
    ['the message id is not overwritten', { provider_message_id: '7' }, "provider_message_id = '8'", 'guard: set once'],
    ['the message id is not unset', { provider_message_id: '7' }, 'provider_message_id = null', 'guard: set once'],
    [
      'the campaign id is not overwritten',
      { provider_campaign_id: '7' },
      "provider_campaign_id = '8'",
      'guard: set once',
    ],
    ['the time of submission is set once', {}, "submitted_at = submitted_at + interval '1 s'", 'guard: set once'],
    [
      'the time of the request is set once',
      { requested_at: new Date() },
      "requested_at = requested_at + interval '1 s'",
      'guard: requested_at',
    ],
    ['the route is frozen', {}, 'route_id = route_id + 1', 'guard: route'],
  ];
  for (const [what, columns, set, constraint] of refused)
    test(what, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const row = await importMessage(
        pool,
        'submitted',
        routeId,
        await importSubmission(pool, 'accepted', routeId),
        columns,
      );
      for (const table of ['sendledger.outbound_message', leafOf('outbound_message', row.created_at)])
        expect(await refusalOf(pool, `update ${table} set ${set} where id = $1`, [row.id])).toMatchObject({
          code: '23514',
          constraint,
        });
    });

  const incomplete = [
    ['submitted without a cost', "state = 'submitted'", 'submitted_has_cost'],
    ['a cost without a currency', "state = 'submitted', cost = 1, billable_units = 1", 'cost_whole'],
    ['a cost without units', "state = 'submitted', cost = 1, cost_currency = 'INR'", 'cost_whole'],
    ['a currency without a cost', "cost_currency = 'INR'", 'cost_whole'],
    [
      'a cost without its source',
      "state = 'submitted', cost = 1, billable_units = 1, cost_currency = 'INR'",
      'cost_whole',
    ],
    ['a cost that claims to be imported', "state = 'submitted', cost_source = 'imported'", 'guard: cost source'],
    ['a cost that claims to be recovered', "state = 'submitted', cost_source = 'recovered'", 'guard: cost source'],
  ] as const;
  for (const [what, set, constraint] of incomplete)
    test(`${what} is refused`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const row = await importMessage(pool, 'claimed', routeId, await importSubmission(pool, 'accepted', routeId));
      expect(
        await refusalOf(pool, `update sendledger.outbound_message set ${set} where id = $1`, [row.id]),
      ).toMatchObject({
        code: '23514',
        constraint,
      });
    });

  test('an imported row without a cost takes it once, from evidence', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const row = await importMessage(pool, 'submitted', routeId, await importSubmission(pool, 'accepted', routeId), {
      cost: null,
      billable_units: null,
      cost_currency: null,
      cost_source: 'imported',
    });
    const set = (cost: number) =>
      `update sendledger.outbound_message set cost = ${cost}, billable_units = 1, cost_currency = 'INR', cost_source = 'evidence' where id = $1`;
    expect(await refusalOf(pool, set(1), [row.id])).toBeUndefined();
    expect(await refusalOf(pool, set(2), [row.id])).toMatchObject({ constraint: 'guard: cost' });
  });

  test('a final row without a cost takes it once, and keeps its state', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const row = await importMessage(pool, 'failed', routeId, await importSubmission(pool, 'refused', routeId));
    const set = `update sendledger.outbound_message set cost = quoted_cost, billable_units = quoted_units,
      cost_currency = quoted_currency, cost_source = 'evidence', billed_after_close_at = now(), conflict = true where id = $1`;
    expect(await refusalOf(pool, set, [row.id])).toBeUndefined();
    expect(
      await refusalOf(
        pool,
        `update sendledger.outbound_message set billed_after_close_at = now() + interval '1 s' where id = $1`,
        [row.id],
      ),
    ).toMatchObject({ constraint: 'guard: set once' });
  });

  test('the quote is written by a claim, and by the next claim again', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const row = await importMessage(pool, 'retry', routeId, await importSubmission(pool, 'not_sent', routeId));
    const submission = await importSubmission(pool, 'open', routeId);
    expect(
      await refusalOf(pool, 'update sendledger.outbound_message set quoted_cost = 5 where id = $1', [row.id]),
    ).toMatchObject({
      constraint: 'guard: quote',
    });
    expect(
      await refusalOf(
        pool,
        `update sendledger.outbound_message set state = 'claimed', submission_id = $2, submission_created_at = $3, quoted_cost = 5
         where id = $1`,
        [row.id, submission.id, submission.created_at],
      ),
    ).toBeUndefined();
  });
});

describe('rows that are not final stay', () => {
  for (const state of MESSAGE_STATES)
    test(`${state}: ${(FINAL_STATES as readonly string[]).includes(state) ? 'may be' : 'is not'} deleted`, async ({
      database: { pool },
    }) => {
      const { routeId } = await scene(pool);
      const submission = await importSubmission(pool, 'ambiguous', routeId);
      const rows = [
        await importMessage(pool, state, routeId, submission),
        await importMessage(pool, state, routeId, submission),
      ] as const;
      const expected = (FINAL_STATES as readonly string[]).includes(state)
        ? undefined
        : expect.objectContaining({ code: '23514', constraint: 'guard: guard_delete' });
      expect(await refusalOf(pool, 'delete from sendledger.outbound_message where id = $1', [rows[0].id])).toEqual(
        expected,
      );
      expect(
        await refusalOf(pool, `delete from ${leafOf('outbound_message', rows[1].created_at)} where id = $1`, [
          rows[1].id,
        ]),
      ).toEqual(expected);
    });
});
