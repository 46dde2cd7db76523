import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  applyReceipts,
  durably,
  type ReceiptOrigin,
  type ReceiptRecord,
  type RowRef,
  recordReceipts,
  rowsOf,
  type Sql,
  settleAsNotSent,
  sweepMarkedLeases,
} from '../../src/ledger/index.ts';
import { BY_HAND, type Scenario, scenario } from './any-order-scenario.ts';
import { type Case, Writers } from './any-order-writers.ts';
import { diceOf } from './dice.ts';
import { endLease, marked, only, outcomeOf } from './on-the-way.ts';
import { type Scene, scene } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

/** Requests that are written about at the same time. */
const AT_ONCE = 24;
const LONGEST_MS = 30_000;

interface Row {
  readonly id: string;
  readonly state: string;
  readonly conflict: boolean;
  readonly cost: string | null;
  readonly quoted: string;
  readonly source: string | null;
  readonly billedAfterClose: boolean;
  readonly submission: string;
  /** How often its cost was written. */
  readonly costs: number;
  readonly successors: readonly string[];
  readonly reviews: readonly string[];
}

const ALL_THAT_WAITS = ['pending', 'claimed', 'retry'];

/** Counts every write of a cost, whoever makes it. */
const COST_HISTORY = `
  create table public.cost_history (message_id bigint not null, cost numeric);
  create function public.keep_cost() returns trigger language plpgsql as $$
    begin insert into public.cost_history values (new.id, new.cost); return null; end $$;
  create trigger keep_cost after update on sendledger.outbound_message for each row
    when (old.cost is distinct from new.cost) execute function public.keep_cost();`;

async function rowsOfCases(pool: pg.Pool, cases: readonly Case[]): Promise<Map<string, Row>> {
  const ids = cases.flatMap((c) => c.submission.rows.map((row) => row.id));
  const first = cases.map((c) => c.submission.id);
  const rows = await rowsOf<Row>(
    pool,
    `select m.id, m.state::text as state, m.conflict, m.cost::text as cost, m.quoted_cost::text as quoted, m.cost_source::text as source,
       m.billed_after_close_at is not null as "billedAfterClose",
       (select s.state::text from sendledger.submission s where s.id = any ($2::bigint[]) and s.id = m.submission_id) as submission,
       (select count(*)::int from public.cost_history h where h.message_id = m.id) as costs,
       array(select n.state::text from sendledger.outbound_message n where n.replaces_id = m.id) as successors,
       array(select v.kind from sendledger.review_item v where v.message_id = m.id
         and v.kind in ('receipt_conflict', 'billed_after_close') and v.resolved_at is null) as reviews
     from sendledger.outbound_message m where m.id = any ($1::bigint[])`,
    [ids, first],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** The states in which a row may end, and whether it is then paid for and in conflict; from the facts alone. */
function legalEnd(c: Case, place: number, row: Row): { states: readonly string[]; cost: boolean; conflict: boolean } {
  const { scenario: s, decided } = c;
  const words = s.words[place] ?? [];
  const finals = new Set(words.filter((word) => word !== 'open'));
  const shown = s.accepted && (s.reply === 'accepted' || words.length > 0);
  const decision = decided.get(row.id);

  if (decision === 'not_sent') return { states: ['failed'], cost: shown, conflict: shown };
  if (shown || decision === 'sent') {
    const open = s.windowOver ? 'expired' : 'submitted';
    const states = finals.size === 0 ? [open] : s.windowOver ? [...finals, 'expired'] : [...finals];
    return { states, cost: true, conflict: row.state === 'expired' ? finals.size > 0 : finals.size > 1 };
  }
  const free = { cost: false, conflict: false };
  if (s.accepted) return { states: ['unknown'], ...free };
  if (c.proven.has(row.id)) return { states: ['failed'], ...free };
  const late = s.leaseEnds ? ['failed'] : [];
  switch (s.reply) {
    case 'refused':
      return { states: ['rejected', ...late], ...free };
    case 'refused_for_now':
    case 'not_sent':
      return { states: [...ALL_THAT_WAITS, ...late], ...free };
    default:
      return { states: ['unknown'], ...free };
  }
}

function problemsOf(c: Case, place: number, row: Row): string[] {
  const { scenario: s } = c;
  const end = legalEnd(c, place, row);
  const words = s.words[place] ?? [];
  const problems: string[] = [];
  const must = (so: boolean, what: string) => {
    if (!so) problems.push(what);
  };
  must(end.states.includes(row.state), `is ${row.state}, and not ${end.states.join(' or ')}`);
  must(row.cost === (end.cost ? row.quoted : null), `costs ${row.cost}, quoted ${row.quoted}`);
  must(row.costs === (end.cost ? 1 : 0), `its cost was written ${row.costs} times`);
  must(row.conflict === end.conflict, `conflict is ${row.conflict}`);
  must(row.reviews.length > 0 === end.conflict, `reviews: ${row.reviews.join(', ')}`);

  const wronglyClosed = c.decided.get(row.id) === 'not_sent' && end.cost;
  must(row.billedAfterClose === wronglyClosed, `billed after close: ${row.billedAfterClose}`);
  must(row.source === (end.cost ? sourceOf(c, row, wronglyClosed) : null), `cost of source ${row.source}`);

  must(row.successors.length <= 1, `${row.successors.length} successors`);
  const waits = row.successors.some((state) => ALL_THAT_WAITS.includes(state));
  const knownSent = wronglyClosed && (words.includes('delivered') || !words.includes('failed'));
  if (knownSent) must(!waits, 'it was sent, and its successor still waits');
  // What was proven not sent is not lost.
  const late = row.state === 'failed' && !c.decided.has(row.id) && s.reply !== 'refused';
  if (late && !s.accepted) must(waits, 'it was proven not sent, and nothing waits in its place');

  if (row.state === 'rejected') must(row.submission === 'refused', `rejected by a request that is ${row.submission}`);
  if (row.state === 'unknown')
    must(['ambiguous', 'accepted'].includes(row.submission), `unknown under ${row.submission}`);
  if (row.cost !== null && !row.billedAfterClose) must(row.submission === 'accepted', `paid under ${row.submission}`);
  if (row.submission !== null)
    must(
      !['open', 'marked'].includes(row.submission) || ALL_THAT_WAITS.includes(row.state),
      `its request is still ${row.submission}`,
    );
  return problems;
}

function sourceOf(c: Case, row: Row, wronglyClosed: boolean): string {
  if (wronglyClosed) return 'evidence';
  return c.decided.get(row.id) === 'sent' ? 'person' : 'quote';
}

/** Runs the scenarios at once and answers what is not as it must be. */
async function run(
  pool: pg.Pool,
  writers: pg.Pool,
  scenarios: readonly Scenario[],
  seed: number,
): Promise<{ problems: string[]; deadlocks: readonly string[] }> {
  const all = await Writers.begin(writers, scenarios);
  await all.run(diceOf(seed));
  const rows = await rowsOfCases(pool, all.cases);
  const problems: string[] = [];
  for (const c of all.cases)
    for (const [place, { id }] of c.submission.rows.entries()) {
      const row = rows.get(id);
      if (row === undefined) throw new Error(`message ${id} is gone`);
      for (const problem of problemsOf(c, place, row))
        problems.push(
          `recipient ${place} ${problem}\n  of ${JSON.stringify({ ...c.scenario, decided: c.decided.get(id) })}\n  ${JSON.stringify(row)}`,
        );
    }
  const lost = await rowsOf<{ txn: string; status: string }>(
    pool,
    `select provider_txn_id as txn, status from sendledger.delivery_receipt
     where applied_at is null and provider_txn_id = any ($1::text[])`,
    [all.cases.map((c) => `txn-${c.submission.id}`)],
  );
  for (const { txn, status } of lost) {
    const of = all.cases.find((c) => txn === `txn-${c.submission.id}`);
    problems.push(`a receipt ${status} was never applied\n  of ${JSON.stringify(of?.scenario)}`);
  }
  return { problems, deadlocks: all.deadlocks };
}

describe('eight writers in any order (FC-24, FC-25, FC-26, FC-28, FC-34)', () => {
  test('end in the one legal row, paid once or not at all, and in conflict only where the finals are', async ({
    freshDatabase: database,
  }) => {
    await database.pool.query(COST_HISTORY);
    const writers = Writers.connect(database.url);
    const ends = Date.now() + LONGEST_MS;
    let runs = 0;
    const deadlocks: string[] = [];
    const seed = Number(process.env.SENDLEDGER_SEED ?? Math.floor(Math.random() * 2 ** 31));
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(scenario, { minLength: AT_ONCE, maxLength: AT_ONCE }),
          fc.integer(),
          async (scenarios, order) => {
            // The time is up: what is left of the runs passes at once.
            if (Date.now() > ends) return;
            runs++;
            const found = await run(database.pool, writers, scenarios, order);
            deadlocks.push(...found.deadlocks);
            expect(found.problems.slice(0, 5).join('\n')).toBe('');
          },
        ),
        { seed, numRuns: 10_000, endOnFailure: true },
      );
    } finally {
      console.info(
        `seed ${seed}: ${runs} runs of ${AT_ONCE} requests, ${deadlocks.length} deadlocks ${deadlocks.join('; ')}`,
      );
      await writers.end();
    }
    expect(deadlocks).toEqual([]);
    expect(runs).toBeGreaterThan(1);
  });

  for (const [name, one] of Object.entries(BY_HAND))
    test(`${name}`, async ({ freshDatabase: database }) => {
      await database.pool.query(COST_HISTORY);
      const writers = Writers.connect(database.url);
      try {
        for (let seed = 1; seed <= 6; seed++) {
          const found = await run(
            database.pool,
            writers,
            Array.from({ length: 4 }, () => one),
            seed,
          );
          expect(found.problems.join('\n'), `order ${seed}`).toBe('');
          expect(found.deadlocks).toEqual([]);
        }
      } finally {
        await writers.end();
      }
    });
});

describe('locks are taken in one order: whoever waits goes on, and nobody is given up', () => {
  /** One request of one message that is on the wire, its lease over. */
  async function late(pool: pg.Pool) {
    const s = await scene(pool);
    const submission = only(await marked(pool, s));
    await endLease(pool, submission);
    const { id, createdAt } = only(submission.rows);
    return { s, submission, message: { id, createdAt } };
  }

  const reportOf = (message: RowRef, status: 'open' | 'delivered'): ReceiptRecord => ({
    providerTxnId: null,
    providerMessageId: `pm-${message.id}`,
    recipient: null,
    senderId: null,
    statusWord: status,
    status,
    cause: null,
    causeClass: null,
    submittedAt: null,
    deliveredAt: null,
    evidence: {},
    message,
  });

  const originOf = (s: Scene): ReceiptOrigin => ({
    routeId: s.routeId,
    provider: 'smsgatewaycenter',
    account: 'default',
    source: 'poll',
  });

  /** `first` holds its locks until the others wait, one behind the other; how the others end. */
  async function behind(
    pool: pg.Pool,
    first: (sql: Sql) => Promise<unknown>,
    others: readonly ((sql: Sql) => Promise<unknown>)[],
  ): Promise<string[]> {
    const holder = await pool.connect();
    const clients: pg.PoolClient[] = [];
    const running: Promise<unknown>[] = [];
    try {
      await holder.query('begin');
      await first(holder);
      for (const other of others) {
        const client = await pool.connect();
        clients.push(client);
        await client.query('begin');
        const end = other(client).then(() => client.query('commit'));
        end.catch(() => undefined);
        running.push(end);
        expect(await untilWaiting(pool, client, end)).toBe('waits');
      }
      await holder.query('commit');
      return (await Promise.allSettled(running)).map((end) => end.status);
    } finally {
      for (const client of [holder, ...clients]) {
        await client.query('rollback');
        client.release();
      }
    }
  }

  test('a receipt and a late reply that both meet the sweep of the lease', async ({ freshDatabase: { pool } }) => {
    const { s, submission, message } = await late(pool);
    const { hashes } = await durably(pool, (sql) => recordReceipts(sql, originOf(s), [reportOf(message, 'delivered')]));
    const ends = await behind(pool, (sql) => sweepMarkedLeases(sql, 10), [
      (sql) => applyReceipts(sql, originOf(s), hashes),
      (sql) => applyOutcomes(sql, [outcomeOf(submission, 'accepted')]),
    ]);
    expect(ends).toEqual(['fulfilled', 'fulfilled']);
    expect(
      await rowsOf(pool, 'select state::text as state, conflict, cost::text as cost from sendledger.outbound_message'),
    ).toEqual([{ state: 'delivered', conflict: false, cost: '0.1225' }]);
  });

  test('a late word that it was not sent and the proof of it, while the lease is swept', async ({
    freshDatabase: { pool },
  }) => {
    const { submission, message } = await late(pool);
    const proof = { reason: 'proven', proof: 'absent', proven: true, correlation: 'not_found', windowMs: 1 } as const;
    const ends = await behind(pool, (sql) => sweepMarkedLeases(sql, 10), [
      (sql) => applyOutcomes(sql, [outcomeOf(submission, 'not_sent')]),
      (sql) => settleAsNotSent(sql, [message], proof),
    ]);
    expect(ends).toEqual(['fulfilled', 'fulfilled']);
    expect(await rowsOf(pool, 'select state::text as state from sendledger.outbound_message order by id')).toEqual([
      { state: 'failed' },
      { state: 'pending' },
    ]);
  });

  test('two readers of one report that hold its records in two orders', async ({ freshDatabase: { pool } }) => {
    const { s, message } = await late(pool);
    const [a, b] = [reportOf(message, 'open'), reportOf(message, 'delivered')];
    await durably(pool, (sql) => recordReceipts(sql, originOf(s), [a, b]));
    for (const word of ['open', 'delivered'])
      expect(
        await behind(
          pool,
          (sql) => sql.query('select from sendledger.delivery_receipt where status = $1 for update', [word]),
          [
            [a, b],
            [b, a],
            [a, b],
          ].map((records) => (sql: Sql) => recordReceipts(sql, originOf(s), records)),
        ),
      ).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  });
});
