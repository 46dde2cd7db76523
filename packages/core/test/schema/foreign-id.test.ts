import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene } from '../ledger/scene.ts';
import { asImport, type Columns, insertRow, intent, submissionIn } from './rows.ts';

const PLACEHOLDERS = ['', '0', 'null', 'NULL', '-'];
const LONG = '0012345678901234567';

/** For each table with ids that somebody else issued: a row to which such a column is added. */
const TABLES: Readonly<Record<string, (routeId: string) => Columns>> = {
  outbound_message: (routeId) => intent(routeId),
  submission: (routeId) => submissionIn('accepted', routeId),
  message_template: () => ({ template_id: 't', version: 1, channel: 'sms', message_class: 'otp', body: 'x' }),
  provider_message: () => ({
    account: 'a',
    provider_message_id: '1',
    message_id: 1,
    message_created_at: new Date(),
  }),
  delivery_receipt: (routeId) => ({
    dedupe_hash: Buffer.from('x'),
    route_id: routeId,
    source: 'poll',
    status_word: 'x',
    status: 'open',
  }),
  fallback: (routeId) => ({
    tenant_id: 'shop',
    business_key: 'k',
    step: 1,
    channel: 'sms',
    route_id: routeId,
    body: 'x',
    encoding: 'GSM7',
    segments: 1,
  }),
  schedule_change: (routeId) => ({
    tenant_id: 'shop',
    route_id: routeId,
    submission_id: 1,
    submission_created_at: new Date(0),
    kind: 'cancel',
    scheduled_for: new Date(),
    requested_by: 'x',
    reason: 'x',
  }),
};

test('an id that somebody else issued is never a placeholder, and keeps its leading zeros', async ({
  freshDatabase: { pool },
}) => {
  const { routeId } = await scene(pool);
  const columns = await rowsOf<{ relation: string; name: string }>(
    pool,
    `select c.relname::text as relation, a.attname::text as name
     from pg_attribute a join pg_class c on c.oid = a.attrelid
     where a.atttypid = 'sendledger.foreign_id'::regtype and not a.attisdropped and not c.relispartition and c.relkind in ('r', 'p')`,
  );
  expect(columns.length).toBeGreaterThan(9);
  for (const { relation, name } of columns) {
    const base = TABLES[relation];
    if (base === undefined) throw new Error(`no row to try ${relation}.${name} with`);
    const insert = (value: string) =>
      asImportOrSuperuser(relation, (sql) => insertRow(sql, relation, { ...base(routeId), [name]: value }));
    for (const placeholder of PLACEHOLDERS)
      await expect(insert(placeholder), `${relation}.${name} = '${placeholder}'`).rejects.toMatchObject({
        code: '23514',
        constraint: 'foreign_id_check',
      });
    expect(await insert(LONG)).toMatchObject({ [name]: LONG });
  }

  /** Only the import role may insert messages and submissions with such an id; the other tables are not its business. */
  async function asImportOrSuperuser(
    relation: string,
    work: Parameters<typeof asImport<Columns>>[1],
  ): Promise<Columns> {
    if (relation === 'outbound_message' || relation === 'submission') return asImport(pool, work);
    const client = await pool.connect();
    try {
      await client.query('begin');
      const row = await work(client);
      return row;
    } finally {
      await client.query('rollback');
      client.release();
    }
  }
});

describe('an update is held to the same', () => {
  test('no placeholder overwrites null', async ({ freshDatabase: { pool } }) => {
    const { routeId } = await scene(pool);
    await asImport(pool, (sql) => insertRow(sql, 'outbound_message', intent(routeId)));
    for (const placeholder of PLACEHOLDERS)
      await expect(
        pool.query('update sendledger.outbound_message set provider_txn_id = $1', [placeholder]),
      ).rejects.toMatchObject({ code: '23514' });
  });
});
