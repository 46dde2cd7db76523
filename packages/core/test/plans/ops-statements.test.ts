import { test as base } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  findMessages,
  listMessages,
  messageRef,
  messageStory,
  messageText,
  ReceiptWatch,
  readOverview,
  rowsOf,
  takeCensus,
} from '../../src/ledger/index.ts';
import { burst, history } from './big-ledger.ts';
import { type Catalogue, catalogue, Explainer, faults, indexesUsed, wholeScans } from './explain.ts';

interface Ledger {
  readonly pool: pg.Pool;
  readonly facts: Catalogue;
  readonly serverVersion: number;
  /** A message of long ago that was delivered. */
  readonly old: { readonly id: string; readonly createdAt: Date; readonly attemptKey: string };
}

const test = base.extend('ledger', { scope: 'file' }, async ({ database: { pool } }): Promise<Ledger> => {
  const scene = await history(pool);
  // The keys that enqueue would have written, of two hundred tenants.
  await pool.query(
    `insert into sendledger.message_key (tenant_id, business_key, message_id, message_created_at, content_hash, event_id)
     select m.tenant_id, m.business_key, m.id, m.created_at, '\\x00', m.event_id from sendledger.outbound_message m`,
  );
  await pool.query('analyze');
  await burst(pool, scene);
  const [version] = await rowsOf<{ n: number }>(pool, `select current_setting('server_version_num')::int as n`);
  // A key that was written by default is random: it is given one as enqueue makes it.
  const client = await pool.connect();
  await client.query('set session_replication_role = replica');
  const [old] = await rowsOf<Ledger['old']>(
    client,
    `update sendledger.outbound_message m set attempt_key = sendledger.attempt_key_of(m.id, gen_random_uuid())
     where m.id = 100001 returning m.id, m.created_at as "createdAt", m.attempt_key as "attemptKey"`,
  );
  await client.query('reset session_replication_role');
  client.release();
  if (old === undefined) throw new Error('no message 100001');
  return { pool, facts: await catalogue(pool), serverVersion: version?.n ?? 0, old };
});

interface Page {
  readonly does: (sql: Explainer, l: Ledger) => Promise<unknown>;
  readonly uses: readonly string[];
  /** Indexes that may be read from end to end: a LIMIT ends the reading, or they hold nothing but what is wanted. */
  readonly wholeIndex?: readonly string[];
}

/** The first tenant of all is one step into the index without a condition. */
const FIRST_TENANT = ['message_key_pkey', 'message_key_event'];

const found = (wanted: string | ((l: Ledger) => string), least: number) => async (sql: Explainer, l: Ledger) => {
  const refs = await findMessages(sql, typeof wanted === 'string' ? wanted : wanted(l), { reading: false });
  expect(refs.length).toBeGreaterThanOrEqual(least);
  return listMessages(sql, refs);
};

const PAGES: Readonly<Record<string, Page>> = {
  'the overview': {
    does: (sql) => readOverview(sql),
    uses: ['outbound_message_claim', 'delivery_receipt_latest'],
    wholeIndex: ['delivery_receipt_latest'],
  },
  'a message found by our id': {
    does: found((l) => l.old.id, 1),
    uses: ['outbound_message_pkey'],
    wholeIndex: FIRST_TENANT,
  },
  'by recipient': { does: found('919000000123', 1), uses: ['outbound_message_recipient'], wholeIndex: FIRST_TENANT },
  "by the provider's message id": {
    does: found('pm-30000-1', 1),
    uses: ['provider_message_pkey'],
    wholeIndex: FIRST_TENANT,
  },
  "by the provider's transaction id, closed long ago": {
    does: found('txn-10000', 4),
    uses: ['submission_txn', 'outbound_message_closed'],
    wholeIndex: FIRST_TENANT,
  },
  'by attempt key': {
    does: found((l) => l.old.attemptKey, 1),
    uses: ['outbound_message_pkey'],
    wholeIndex: FIRST_TENANT,
  },
  'by business key, whoever is its tenant': {
    does: found('claimed-1000002.3', 0),
    uses: ['message_key_pkey'],
    wholeIndex: FIRST_TENANT,
  },
  'by event id, whoever is its tenant': {
    does: found('e12345', 5),
    uses: ['message_key_event'],
    wholeIndex: FIRST_TENANT,
  },
  'by what nobody knows': { does: found('nobody', 0), uses: ['message_key_event'], wholeIndex: FIRST_TENANT },
  "a message's story": {
    does: async (sql, l) => {
      const ref = await messageRef(sql, l.old.id);
      expect(ref).toEqual({ id: l.old.id, createdAt: l.old.createdAt });
      if (ref === null) return;
      expect((await messageStory(sql, ref))?.chain).toHaveLength(1);
      await messageText(sql, ref);
    },
    uses: ['outbound_message_pkey', 'submission_pkey', 'delivery_receipt_message', 'outbound_message_replaces'],
  },
};

async function explain(l: Ledger, does: Page['does']) {
  const client = await l.pool.connect();
  try {
    await client.query('begin read only');
    const explainer = new Explainer(client, l.serverVersion);
    await does(explainer, l);
    return explainer.explained;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

for (const statistics of ['from before the burst', 'fresh'] as const)
  describe(`no statement of a page reads a partition from end to end, with statistics that are ${statistics}`, () => {
    if (statistics === 'fresh')
      test('the statistics are renewed', async ({ ledger }) => {
        await ledger.pool.query('analyze');
      });

    for (const [what, page] of Object.entries(PAGES))
      test(what, async ({ ledger }) => {
        const explained = await explain(ledger, page.does);
        expect(explained.length).toBeGreaterThan(0);
        expect(wholeScans(explained, ledger.facts)).toEqual([]);
        expect(faults(explained, ledger.facts, page.wholeIndex ?? [])).toEqual([]);
        expect(indexesUsed(explained, ledger.facts)).toEqual(expect.arrayContaining([...page.uses]));
      });

    // Beside the pages, by one process. What is open and what was enqueued lately is read; the closed past is not.
    test('the census', async ({ ledger }) => {
      const explained = await explain(ledger, (sql) => takeCensus(sql, 24, new ReceiptWatch()));
      const holdOnlyWhatIsOpen = ['outbound_message_submission', 'outbound_message_submit_by'];
      expect(faults(explained, ledger.facts, holdOnlyWhatIsOpen)).toEqual([]);
      expect(indexesUsed(explained, ledger.facts)).toEqual(expect.arrayContaining(['outbound_message_submission']));
    });
  });
