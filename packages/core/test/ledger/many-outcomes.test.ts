import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { expect } from 'vitest';
import {
  applyOutcomes,
  claim,
  durably,
  type MarkedSubmission,
  markNext,
  type RowOutcome,
  rowsOf,
  type Sql,
  type SubmissionOutcome,
} from '../../src/ledger/index.ts';
import { claimRequest, markRequest, outcomeOf } from './on-the-way.ts';
import { type Scene, scene } from './scene.ts';

const ROWS = 3_000;
const SUBMISSIONS = 6;
const PRICES = { IN: '0.1225', GB: '0.0410', US: '0.0079' } as const;
const COUNTRIES = ['IN', 'GB', 'US'] as const;

/** What row `i` costs: price by country, units by length. */
const countryOf = (i: number) => COUNTRIES[i % COUNTRIES.length] ?? 'IN';
const unitsOf = (group: number) => 1 + (group % 3);

/** Rows of several countries in submissions of several texts, so that a price or an outcome in the wrong row shows. */
async function enqueueRows(pool: pg.Pool, s: Scene): Promise<void> {
  for (const [country, price] of Object.entries(PRICES))
    await pool.query(
      `insert into sendledger.rate_card (route_id, price_key, currency, price, valid)
       values ($1, $2, 'INR', $3::numeric, tstzrange('2020-01-01Z', null))`,
      [s.routeId, `transactional:${country}`, price],
    );
  const size = ROWS / SUBMISSIONS;
  for (let group = 0; group < SUBMISSIONS; group++) {
    const messages = Array.from({ length: size }, (_, k) => group * size + k).map((i) => ({
      tenant_id: 'shop',
      channel: 'sms',
      message_class: 'transactional',
      recipient: `9190${10_000_000 + i}`,
      country: countryOf(i),
      event_type: 'order',
      event_id: randomUUID(),
      body: `Text ${group}`,
      encoding: 'GSM7',
      segments: String(unitsOf(group)),
      route: s.name,
    }));
    await pool.query('select count(*) from sendledger.enqueue($1::json)', [JSON.stringify(messages)]);
  }
}

const place = (recipient: string) => Number(recipient.slice(4)) - 10_000_000;
const STATES = ['submitted', 'submitted', 'rejected', 'submitted', 'unknown'] as const;

/** Inside one accepted request some are refused and some not accounted for; each refusal has words of its own. */
function outcomeWithAllKinds(m: MarkedSubmission): SubmissionOutcome {
  return outcomeOf(m, 'accepted', {
    rows: m.rows.map((row): RowOutcome => {
      const i = place(row.recipient);
      const to = STATES[i % STATES.length] ?? 'submitted';
      return {
        id: row.id,
        createdAt: row.createdAt,
        to,
        reason: to === 'submitted' ? null : `reason ${i % 11}`,
        cause: to === 'rejected' ? `cause ${i % 13}` : null,
        countsAsAttempt: to !== 'rejected',
        retryInMs: null,
      };
    }),
  });
}

/** Runs statements and keeps how many rows each one of them named: the work of one grows with the square of that. */
function recording(sql: Sql): { readonly sql: Sql; readonly named: number[] } {
  const named: number[] = [];
  return {
    named,
    sql: {
      query(text, values = []) {
        named.push(...values.filter(Array.isArray).map((value) => value.length));
        return sql.query(text, values);
      },
    },
  };
}

async function apply(pool: pg.Pool, outcomes: readonly SubmissionOutcome[]) {
  return durably(pool, async (sql) => {
    const { sql: recorded, named } = recording(sql);
    const applied = await applyOutcomes(recorded, outcomes);
    expect(Math.max(...named)).toBeLessThanOrEqual(500);
    return applied;
  });
}

async function markedRows(pool: pg.Pool): Promise<MarkedSubmission[]> {
  const s = await scene(pool, { maxBatch: ROWS / SUBMISSIONS });
  await enqueueRows(pool, s);
  expect(await claim(pool, claimRequest(s, 'transactional', ROWS))).toMatchObject({
    rows: ROWS,
    submissions: SUBMISSIONS,
  });
  return markNext(pool, markRequest(s));
}

test(`${ROWS} rows of ${SUBMISSIONS} submissions in one call: each takes its own outcome and its own cost`, async ({
  freshDatabase: { pool },
}) => {
  const marked = await markedRows(pool);
  // The last is refused for now as a whole, and comes back.
  const outcomes = marked.map((m, i) =>
    i === marked.length - 1 ? outcomeOf(m, 'refused', { to: 'retry' }) : outcomeWithAllKinds(m),
  );
  expect(await apply(pool, outcomes)).toMatchObject({
    submissions: marked.map((m) => m.id),
    rows: ROWS,
    late: 0,
    stale: [],
  });

  const rows = await rowsOf<{
    recipient: string;
    body: string;
    state: string;
    reason: string | null;
    cause: string | null;
    attempts: number;
    txn: string | null;
    submission: string;
    units: number | null;
    cost: string | null;
  }>(
    pool,
    `select recipient, body, state, state_reason as reason, provider_cause as cause, attempt_count as attempts, provider_txn_id as txn,
       submission_id as submission, billable_units as units, cost from sendledger.outbound_message`,
  );
  expect(rows).toHaveLength(ROWS);
  const refused = marked.at(-1)?.id;
  const wrong = rows.filter((row) => {
    const i = place(row.recipient);
    const group = Number(row.body.slice('Text '.length));
    const state = row.submission === refused ? 'retry' : STATES[i % STATES.length];
    const billed = state === 'submitted';
    const wanted = {
      recipient: row.recipient,
      body: row.body,
      state,
      reason: state === 'retry' ? 'refused' : billed ? null : `reason ${i % 11}`,
      cause: state === 'rejected' ? `cause ${i % 13}` : null,
      attempts: state === 'rejected' ? 0 : 1,
      txn: state === 'retry' ? null : `txn-${row.submission}`,
      submission: row.submission,
      units: billed ? unitsOf(group) : null,
      cost: billed ? (unitsOf(group) * Number(PRICES[countryOf(i)])).toFixed(4) : null,
    };
    return JSON.stringify(row) !== JSON.stringify(wanted);
  });
  expect(wrong).toEqual([]);
  // A second application, whole or in part, finds nothing.
  expect(await apply(pool, outcomes)).toMatchObject({
    rows: 0,
    stale: marked.map((m) => m.id),
  });
});

test(`${ROWS} rows whose replies came after their lease: each takes its own outcome and its own cost`, async ({
  freshDatabase: { pool },
}) => {
  const marked = await markedRows(pool);
  expect(
    await apply(
      pool,
      marked.map((m) => outcomeOf(m, 'ambiguous')),
    ),
  ).toMatchObject({ rows: ROWS });
  const late = marked.map((m, i) => {
    if (i % 2 === 0) return outcomeOf(m, 'accepted');
    const refused = outcomeOf(m, 'refused');
    return { ...refused, rows: refused.rows.map((row, k) => ({ ...row, reason: `r${k % 11}`, cause: `cause ${k}` })) };
  });
  expect(await apply(pool, late)).toMatchObject({ rows: 0, late: ROWS, stale: [] });

  const rows = await rowsOf<{ id: string; state: string; reason: string; cause: string | null; cost: string | null }>(
    pool,
    'select id, state, state_reason as reason, provider_cause as cause, cost from sendledger.outbound_message',
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  const wrong = late.flatMap((outcome, i) =>
    outcome.rows.filter((row, k) => {
      const { recipient } = marked[i]?.rows[k] ?? { recipient: '' };
      const group = Math.floor(place(recipient) / (ROWS / SUBMISSIONS));
      const cost = (unitsOf(group) * Number(PRICES[countryOf(place(recipient))])).toFixed(4);
      const wanted =
        outcome.state === 'accepted'
          ? { id: row.id, state: 'submitted', reason: 'late_reply', cause: null, cost }
          : { id: row.id, state: 'failed', reason: `late_r${k % 11}`, cause: `cause ${k}`, cost: null };
      return JSON.stringify(found.get(row.id)) !== JSON.stringify(wanted);
    }),
  );
  expect(wrong).toEqual([]);
  expect(rows).toHaveLength(ROWS);
});
