import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { SUBMISSION_STATES } from '../../src/domain/state.ts';
import { scene } from '../ledger/scene.ts';
import { untilWaiting } from '../ledger/until-waiting.ts';
import {
  asImport,
  type Columns,
  importMessage,
  importSubmission,
  leafOf,
  type Row,
  refusalOf,
  submissionIn,
} from './rows.ts';

const UNSET = 'update sendledger.outbound_message set submission_id = null, submission_created_at = null where id = $1';
const REFUSED = { code: '23514', constraint: 'guard: submission' };

const claimInto = (
  submission: Row | { id: string; created_at: Date | null },
  table = 'sendledger.outbound_message',
) => ({
  text: `update ${table} set state = 'claimed', claimed_at = now(), submission_id = $2, submission_created_at = $3,
      quoted_units = 1, quoted_cost = 0.1225, quoted_currency = 'INR'
    where id = any ($1::bigint[])`,
  values: (ids: readonly string[]) => [[...ids], submission.id, submission.created_at],
});

async function pendingRows(pool: pg.Pool, routeId: string, count: number, columns: Columns = {}): Promise<Row[]> {
  const rows: Row[] = [];
  for (let i = 0; i < count; i++)
    rows.push(await importMessage(pool, 'pending', routeId, null, { recipient: `91900000000${i}`, ...columns }));
  return rows;
}

describe('which submission a row belongs to', () => {
  test('a claimed row is not moved to another open submission, on the parent or the leaf', async ({
    database: { pool },
  }) => {
    const { routeId } = await scene(pool);
    const first = await importSubmission(pool, 'open', routeId);
    const second = await importSubmission(pool, 'open', routeId);
    const row = await importMessage(pool, 'claimed', routeId, first);
    for (const table of ['sendledger.outbound_message', leafOf('outbound_message', row.created_at)])
      expect(
        await refusalOf(pool, `update ${table} set submission_id = $2, submission_created_at = $3 where id = $1`, [
          row.id,
          second.id,
          second.created_at,
        ]),
      ).toMatchObject(REFUSED);
  });

  test('only the creation time of the reference is not swapped either', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const row = await importMessage(pool, 'claimed', routeId, await importSubmission(pool, 'open', routeId));
    expect(
      await refusalOf(
        pool,
        `update sendledger.outbound_message set submission_created_at = submission_created_at - interval '1 day' where id = $1`,
        [row.id],
      ),
    ).toMatchObject(REFUSED);
  });

  for (const state of ['submitted', 'unknown', 'retry'] as const)
    test(`a row that is ${state} does not lose its submission`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const row = await importMessage(pool, state, routeId, await importSubmission(pool, 'ambiguous', routeId));
      expect(await refusalOf(pool, UNSET, [row.id])).toMatchObject(REFUSED);
    });

  test('a claimed row does not lose its submission without leaving claimed', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    await importMessage(pool, 'claimed', routeId, await importSubmission(pool, 'released', routeId));
    expect(
      await refusalOf(
        pool,
        'update sendledger.outbound_message set submission_id = null, submission_created_at = null',
      ),
    ).toMatchObject(REFUSED);
  });

  test('a pending row is given no submission without being claimed', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const submission = await importSubmission(pool, 'open', routeId);
    const [row] = await pendingRows(pool, routeId, 1);
    expect(
      await refusalOf(
        pool,
        'update sendledger.outbound_message set submission_id = $2, submission_created_at = $3 where id = $1',
        [row?.id, submission.id, submission.created_at],
      ),
    ).toMatchObject(REFUSED);
  });
});

describe('claimed only into a submission of its own', () => {
  for (const state of SUBMISSION_STATES.filter((s) => s !== 'open'))
    test(`not into one that is ${state}`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const [row] = await pendingRows(pool, routeId, 1);
      const claim = claimInto(await importSubmission(pool, state, routeId));
      expect(await refusalOf(pool, claim.text, claim.values([row?.id ?? '']))).toMatchObject(REFUSED);
    });

  test('not into one that does not exist', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const [row] = await pendingRows(pool, routeId, 1);
    const claim = claimInto({ id: '999999999', created_at: new Date() });
    expect(await refusalOf(pool, claim.text, claim.values([row?.id ?? '']))).toMatchObject(REFUSED);
  });

  test('not into one of another route', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const other = await scene(pool);
    const [row] = await pendingRows(pool, routeId, 1);
    const claim = claimInto(await importSubmission(pool, 'open', other.routeId));
    expect(await refusalOf(pool, claim.text, claim.values([row?.id ?? '']))).toMatchObject(REFUSED);
  });

  test('not into one of another class', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const [row] = await pendingRows(pool, routeId, 1);
    const claim = claimInto(await importSubmission(pool, 'open', routeId, { messageClass: 'promotional' }));
    expect(await refusalOf(pool, claim.text, claim.values([row?.id ?? '']))).toMatchObject(REFUSED);
  });

  for (const [size, rows] of [
    [3, 2],
    [2, 3],
  ] as const)
    test(`${rows} rows do not fill a submission of ${size}`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const waiting = await pendingRows(pool, routeId, rows);
      const claim = claimInto(await importSubmission(pool, 'open', routeId, { size }));
      expect(await refusalOf(pool, claim.text, claim.values(waiting.map((r) => r.id)))).toMatchObject(REFUSED);
    });

  for (const target of ['parent', 'leaf'] as const)
    test(`not into one that another statement filled before, by an update of the ${target}`, async ({
      database: { pool },
    }) => {
      const { routeId } = await scene(pool);
      const rows = await pendingRows(pool, routeId, 4);
      const claim = claimInto(
        await importSubmission(pool, 'open', routeId, { size: 2 }),
        target === 'leaf' ? leafOf('outbound_message', rows[0]?.created_at ?? new Date()) : undefined,
      );
      const ids = rows.map((r) => r.id);
      await pool.query(claim.text, claim.values(ids.slice(0, 2)));
      expect(await refusalOf(pool, claim.text, claim.values(ids.slice(2)))).toMatchObject(REFUSED);
    });

  test('two that fill one submission at the same time: one commits', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const rows = await pendingRows(pool, routeId, 2);
    const claim = claimInto(await importSubmission(pool, 'open', routeId));
    const [a, b] = [await pool.connect(), await pool.connect()];
    try {
      await a.query('begin');
      await a.query(claim.text, claim.values([rows[0]?.id ?? '']));
      const second = b.query(claim.text, claim.values([rows[1]?.id ?? ''])).then(
        () => 'went through',
        (error: { constraint?: string }) => error.constraint,
      );
      await untilWaiting(pool, b, second);
      await a.query('commit');
      expect(await second).toBe('guard: submission');
    } finally {
      a.release();
      b.release();
    }
  });

  test('raw SQL that does all of it right is let through', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const rows = await pendingRows(pool, routeId, 3);
    const claim = claimInto(await importSubmission(pool, 'open', routeId, { size: 3 }));
    expect(await refusalOf(pool, claim.text, claim.values(rows.map((r) => r.id)))).toBeUndefined();
  });
});

describe('a one-time password is alone in its request', () => {
  const otp = { message_class: 'otp' };

  test('a submission of two is refused for every writer', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const columns = submissionIn('open', routeId, { size: 2, messageClass: 'otp' });
    const names = Object.keys(columns);
    const text = `insert into sendledger.submission (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})`;
    const refused = { code: '23514', constraint: 'otp_alone' };
    expect(await refusalOf(pool, text, Object.values(columns))).toMatchObject(refused);
    expect(await asImport(pool, (sql) => refusalOf(sql, text, Object.values(columns)))).toMatchObject(refused);
  });

  test('a second one into a submission that is full is refused', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const rows = await pendingRows(pool, routeId, 2, otp);
    const claim = claimInto(await importSubmission(pool, 'open', routeId, { messageClass: 'otp' }));
    await pool.query(claim.text, claim.values([rows[0]?.id ?? '']));
    expect(await refusalOf(pool, claim.text, claim.values([rows[1]?.id ?? '']))).toMatchObject(REFUSED);
  });

  test('two at once into one of size 1 are refused', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const rows = await pendingRows(pool, routeId, 2, otp);
    const claim = claimInto(await importSubmission(pool, 'open', routeId, { messageClass: 'otp' }));
    expect(await refusalOf(pool, claim.text, claim.values(rows.map((r) => r.id)))).toMatchObject(REFUSED);
  });

  test('one that is alone is claimed', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const [row] = await pendingRows(pool, routeId, 1, otp);
    const claim = claimInto(await importSubmission(pool, 'open', routeId, { messageClass: 'otp' }));
    expect(await refusalOf(pool, claim.text, claim.values([row?.id ?? '']))).toBeUndefined();
  });
});

describe("a submission's facts", () => {
  const GUARD = { code: '23514', constraint: 'guard: guard_update' };

  const unset: readonly [string, Parameters<typeof importSubmission>[1], string][] = [
    ['a mark is not unset', 'marked', "state = 'open', requested_at = null, lease_token = null, marked_by = null"],
    [
      'a mark is not turned into a release',
      'marked',
      "state = 'released', requested_at = null, lease_token = null, marked_by = null",
    ],
    ['the time of the request does not change', 'marked', "requested_at = requested_at + interval '1 s'"],
    ['the lease token does not change', 'marked', 'lease_token = gen_random_uuid()'],
    ['the owner does not change', 'marked', 'marked_by = 2'],
    ['a lease is not prolonged', 'open', "lease_until = lease_until + interval '1 h'"],
    ['a lease is not prolonged after the mark', 'marked', "lease_until = lease_until + interval '1 h'"],
    ['not_after does not move', 'open', "not_after = not_after + interval '1 h'"],
    ['the size does not change', 'open', 'size = size + 1'],
    ['the epoch does not change', 'open', 'epoch_no = 2'],
    ['it does not change lanes', 'open', "message_class = 'promotional'"],
    ['it does not become a probe', 'open', 'is_probe = true'],
    ['its id is frozen', 'open', 'id = id + 1'],
    ['its creation is frozen', 'open', "created_at = created_at + interval '1 ms'"],
    ['a release is final', 'released', "state = 'open'"],
    ['accepted is final', 'accepted', "state = 'ambiguous'"],
    ['refused is final', 'refused', "state = 'accepted'"],
    ['not_sent is final', 'not_sent', "state = 'accepted'"],
    ['ambiguous is not marked again', 'ambiguous', "state = 'marked'"],
    ['the transaction id is set once', 'accepted', "provider_txn_id = '999'"],
    ['the raw reply is set once', 'accepted', "raw_reply = 'x'"],
    ['the outcome is set once', 'accepted', "outcome_reason = 'other'"],
    ['the status code is set once', 'accepted', "provider_status_code = '500'"],
    ['an outcome is not written without its state', 'marked', "outcome_reason = 'early', responded_at = now()"],
    ['an ambiguous outcome is not rewritten in place', 'ambiguous', "outcome_reason = 'other'"],
  ];
  for (const [what, state, set] of unset)
    test(what, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const columns: Columns =
        state === 'accepted' || state === 'ambiguous'
          ? {
              provider_txn_id: '123',
              raw_reply: Buffer.from('{}'),
              outcome_reason: 'said so',
              provider_status_code: '200',
            }
          : {};
      const row = await importSubmission(pool, state, routeId, { columns });
      for (const table of ['sendledger.submission', leafOf('submission', row.created_at)])
        expect(await refusalOf(pool, `update ${table} set ${set} where id = $1`, [row.id]), table).toMatchObject(GUARD);
    });

  for (const state of ['open', 'marked', 'ambiguous'] as const)
    test(`one that is ${state} is not deleted`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const row = await importSubmission(pool, state, routeId);
      for (const table of ['sendledger.submission', leafOf('submission', row.created_at)])
        expect(await refusalOf(pool, `delete from ${table} where id = $1`, [row.id])).toMatchObject({
          code: '23514',
          constraint: 'guard: guard_delete',
        });
    });

  const forged: Columns = {
    state: 'released',
    requested_at: new Date(),
    responded_at: new Date(),
    provider_txn_id: '1',
    provider_status_code: '200',
    http_status: 200,
    outcome_reason: 'accepted',
    outcome_proof: 'none',
    raw_reply: Buffer.from('{}'),
    poll_at: new Date(),
    polls: 1,
  };
  for (const [column, value] of Object.entries(forged))
    test(`none is inserted with ${column}`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      const columns = {
        ...submissionIn('open', routeId),
        ...(column === 'requested_at' ? { state: 'marked', marked_by: 1, lease_token: crypto.randomUUID() } : {}),
        [column]: value,
      };
      const names = Object.keys(columns);
      expect(
        await refusalOf(
          pool,
          `insert into sendledger.submission (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
          Object.values(columns),
        ),
      ).toMatchObject({ code: '23514', constraint: 'guard: guard_insert' });
    });
});

test('rows of two months fill one submission', async ({ database: { pool } }) => {
  const { routeId } = await scene(pool);
  await pool.query(`select sendledger.create_month((now() - interval '1 month')::date)`);
  const old = await importMessage(pool, 'pending', routeId, null, {
    created_at: new Date(Date.now() - 28 * 86_400_000),
    recipient: '919000000009',
  });
  const [fresh] = await pendingRows(pool, routeId, 1);
  const submission = await importSubmission(pool, 'open', routeId, { size: 2 });
  const claim = claimInto(submission);
  expect(await refusalOf(pool, claim.text, claim.values([old.id, fresh?.id ?? '']))).toBeUndefined();
});
