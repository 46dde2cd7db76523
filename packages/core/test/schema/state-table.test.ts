import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  MESSAGE_STATES,
  type MessageState,
  SUBMISSION_STATES,
  type SubmissionState,
  TRANSITIONS,
} from '../../src/domain/state.ts';
import { scene } from '../ledger/scene.ts';
import {
  asImport,
  asRow,
  COST,
  importMessage,
  importSubmission,
  insertRow,
  leafOf,
  messageIn,
  QUOTE,
  type Row,
  refusalOf,
  submissionIn,
} from './rows.ts';

/** A move, and everything about it but its legality made right, so that only the guard can refuse it. */
function move(row: Row, from: MessageState, to: MessageState, submission: Row, reason: string | null, table: string) {
  const set: Record<string, unknown> = { state: to, state_reason: reason };
  if (to === 'claimed' && from !== 'claimed')
    Object.assign(set, {
      submission_id: submission.id,
      submission_created_at: submission.created_at,
      claimed_at: new Date(),
      ...QUOTE,
    });
  if (to === 'pending') Object.assign(set, { submission_id: null, submission_created_at: null });
  if ((to === 'submitted' || to === 'delivered') && from !== 'submitted' && from !== 'delivered')
    Object.assign(set, COST);
  const names = Object.keys(set);
  return {
    text: `update ${table} set ${names.map((name, i) => `${name} = $${i + 3}`).join(', ')} where id = $1 and created_at = $2`,
    values: [row.id, row.created_at, ...Object.values(set)],
  };
}

/** What the table in domain/state.ts says, read the plain way. */
function expected(from: MessageState, to: MessageState, under: SubmissionState, reason: string | null): boolean {
  if (from === to) return true;
  return TRANSITIONS.some(
    (t) =>
      t.from === from &&
      t.to === to &&
      (t.under === undefined || t.under.includes(under)) &&
      (t.needsReason !== true || reason !== null),
  );
}

async function walk(pool: pg.Pool, from: MessageState, aimedAt: 'parent' | 'leaf'): Promise<string[]> {
  const { routeId } = await scene(pool);
  const attempts = MESSAGE_STATES.flatMap((to) =>
    SUBMISSION_STATES.flatMap((under) => [null, 'a reason'].map((reason) => ({ to, under, reason }))),
  );
  const prepared = await asImport(pool, async (sql) => {
    const rows: { row: Row; submission: Row; to: MessageState; under: SubmissionState; reason: string | null }[] = [];
    for (const attempt of attempts) {
      const submission = asRow(await insertRow(sql, 'submission', submissionIn(attempt.under, routeId)));
      const row = asRow(await insertRow(sql, 'outbound_message', messageIn(from, routeId, submission)));
      rows.push({ row, submission, ...attempt });
    }
    return rows;
  });
  const client = await pool.connect();
  const surprises: string[] = [];
  try {
    await client.query('begin');
    for (const { row, submission, to, under, reason } of prepared) {
      const table = aimedAt === 'leaf' ? leafOf('outbound_message', row.created_at) : 'sendledger.outbound_message';
      const { text, values } = move(row, from, to, submission, reason, table);
      const refusal = await refusalOf(client, text, values);
      const found = refusal === undefined ? 'legal' : `${refusal.code} ${refusal.constraint.split(':')[0]}`;
      const wanted = expected(from, to, under, reason) ? 'legal' : '23514 guard';
      if (found !== wanted) surprises.push(`${from} → ${to} under ${under}, reason ${reason}: ${found}, not ${wanted}`);
    }
    await client.query('commit');
  } finally {
    client.release();
  }
  return surprises;
}

describe('the state table, every pair under every state of the submission', () => {
  for (const aimedAt of ['parent', 'leaf'] as const)
    for (const from of MESSAGE_STATES)
      test(`from ${from}, by an update of the ${aimedAt}`, async ({ database: { pool } }) => {
        expect(await walk(pool, from, aimedAt)).toEqual([]);
      });
});

describe('there is no way from unknown back to the queue', () => {
  const setting = async (pool: pg.Pool) => {
    const { routeId } = await scene(pool);
    const submission = await importSubmission(pool, 'ambiguous', routeId);
    const row = await importMessage(pool, 'unknown', routeId, submission);
    const still = async () => (await pool.query('select state from sendledger.outbound_message')).rows;
    return { row, still, leaf: leafOf('outbound_message', row.created_at) };
  };
  const refused = { code: '23514', constraint: 'guard: state' };

  for (const to of ['pending', 'retry', 'claimed'] as const)
    test(`unknown → ${to}, by an update of the parent`, async ({ freshDatabase: { pool } }) => {
      const { row, still } = await setting(pool);
      const set = to === 'pending' ? ', submission_id = null, submission_created_at = null' : '';
      expect(
        await refusalOf(pool, `update sendledger.outbound_message set state = '${to}'${set} where id = $1`, [row.id]),
      ).toMatchObject(refused);
      expect(await still()).toEqual([{ state: 'unknown' }]);
    });

  test('unknown → pending, by an update of the leaf', async ({ freshDatabase: { pool } }) => {
    const { row, still, leaf } = await setting(pool);
    expect(
      await refusalOf(
        pool,
        `update ${leaf} set state = 'pending', submission_id = null, submission_created_at = null where id = $1`,
        [row.id],
      ),
    ).toMatchObject(refused);
    expect(await still()).toEqual([{ state: 'unknown' }]);
  });

  test('unknown → pending, by MERGE', async ({ freshDatabase: { pool } }) => {
    const { row, still } = await setting(pool);
    expect(
      await refusalOf(
        pool,
        `merge into sendledger.outbound_message m using (select $1::bigint as id) u on m.id = u.id
         when matched then update set state = 'pending', submission_id = null, submission_created_at = null`,
        [row.id],
      ),
    ).toMatchObject(refused);
    expect(await still()).toEqual([{ state: 'unknown' }]);
  });

  for (const target of ['parent', 'leaf'] as const)
    test(`unknown → pending, by INSERT … ON CONFLICT DO UPDATE on the ${target}`, async ({
      freshDatabase: { pool },
    }) => {
      const { row, still, leaf } = await setting(pool);
      expect(
        await refusalOf(
          pool,
          `insert into ${target === 'leaf' ? leaf : 'sendledger.outbound_message'} (id, created_at, tenant_id, business_key, event_type, event_id, channel,
             message_class, recipient, route_id, provider, body, encoding, segments, due_at, submit_by)
           select id, created_at, tenant_id, business_key, event_type, event_id, channel, message_class, recipient, route_id,
             provider, body, encoding, segments, due_at, submit_by from sendledger.outbound_message where id = $1
           on conflict (id, created_at) do update set state = 'pending', submission_id = null, submission_created_at = null`,
          [row.id],
        ),
      ).toMatchObject(refused);
      expect(await still()).toEqual([{ state: 'unknown' }]);
    });

  test('unknown → pending, by replacing the row: delete and insert', async ({ freshDatabase: { pool } }) => {
    const { row, still } = await setting(pool);
    expect(await refusalOf(pool, 'delete from sendledger.outbound_message where id = $1', [row.id])).toMatchObject({
      code: '23514',
      constraint: 'guard: guard_delete',
    });
    expect(await still()).toEqual([{ state: 'unknown' }]);
  });
});

describe('what may be inserted', () => {
  for (const state of MESSAGE_STATES)
    test(`${state}: ${state === 'pending' ? 'by anybody' : 'by the import role only'}`, async ({
      database: { pool },
    }) => {
      const { routeId } = await scene(pool);
      const submission = await importSubmission(pool, 'accepted', routeId);
      const insert = (sql: pg.Pool | pg.PoolClient, columns: Record<string, unknown>) => {
        const names = Object.keys(columns);
        return refusalOf(
          sql,
          `insert into sendledger.outbound_message (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
          Object.values(columns),
        );
      };
      const columns = messageIn(state, routeId, submission);
      expect(await insert(pool, columns)).toEqual(
        state === 'pending' ? undefined : expect.objectContaining({ code: '23514', constraint: 'guard: guard_insert' }),
      );
      expect(await asImport(pool, (sql) => insert(sql, { ...columns, business_key: 'by import' }))).toBeUndefined();
    });
});

/** The state table of docs/protocol.md written out once more, so that a wrong line in the source of the trigger shows. */
const WRITTEN_OUT = `
  pending    -> claimed(open) expired cancelled
  claimed    -> pending(released) retry(refused,not_sent) submitted(accepted) rejected(accepted,refused) unknown(accepted,ambiguous)
  retry      -> claimed(open) expired cancelled
  submitted  -> delivered failed expired
  unknown    -> submitted failed!
`;

test('the table in the source is the table that is documented', () => {
  const lines = [...new Set(TRANSITIONS.map((t) => t.from))].map((from) => {
    const moves = TRANSITIONS.filter((t) => t.from === from).map(
      (t) => `${t.to}${t.under === undefined ? '' : `(${t.under.join(',')})`}${t.needsReason === true ? '!' : ''}`,
    );
    return `  ${from.padEnd(10)} -> ${moves.join(' ')}`;
  });
  expect(`\n${lines.join('\n')}\n`).toBe(WRITTEN_OUT);
});

test('unknown -> failed needs a reason of its own: the one that says why it is unknown is none', async ({
  database: { pool },
}) => {
  const { routeId } = await scene(pool);
  const row = await asImport(pool, async (sql) => {
    const submission = asRow(await insertRow(sql, 'submission', submissionIn('ambiguous', routeId)));
    return asRow(
      await insertRow(sql, 'outbound_message', {
        ...messageIn('unknown', routeId, submission),
        state_reason: 'lease_expired',
      }),
    );
  });
  const key = [row.id, row.created_at];
  const client = await pool.connect();
  try {
    await client.query('begin');
    const bare = `update sendledger.outbound_message set state = 'failed' where id = $1 and created_at = $2`;
    expect(await refusalOf(client, bare, key)).toMatchObject({ constraint: 'guard: reason' });
    const told = `update sendledger.outbound_message set state = 'failed', state_reason = 'proven_absent' where id = $1 and created_at = $2`;
    expect(await refusalOf(client, told, key)).toBeUndefined();
  } finally {
    await client.query('rollback');
    client.release();
  }
});
