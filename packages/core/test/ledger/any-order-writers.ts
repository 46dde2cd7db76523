import pg from 'pg';
import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  expireUnconfirmed,
  type MarkedSubmission,
  markNext,
  openReview,
  type ReceiptOrigin,
  type ReceiptRecord,
  type RowRef,
  recordReceipts,
  replay,
  resolveReview,
  rowsOf,
  settleAsNotSent,
  sweepCancelled,
  sweepMarkedLeases,
  takeWaitingReceipts,
} from '../../src/ledger/index.ts';
import type { Scenario } from './any-order-scenario.ts';
import { shuffled } from './dice.ts';
import { claimRequest, markRequest, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

export const WRITERS = 8;

/** A request under way, and what people and proof have done to its rows. */
export interface Case {
  readonly scenario: Scenario;
  readonly submission: MarkedSubmission;
  /** By message: the decision that moved it. */
  readonly decided: Map<string, 'sent' | 'not_sent'>;
  readonly proven: Set<string>;
}

/** A transaction or two of somebody, to be run at any time and beside any other. */
interface Step {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

const LANES = ['transactional', 'promotional'] as const;
const txnOf = (c: Case) => `txn-${c.submission.id}`;

/** Everybody who writes, on eight connections, about the requests of one route. */
export class Writers {
  readonly #pool: pg.Pool;
  readonly #scene: Scene;
  readonly cases: readonly Case[];
  /** Which step each deadlock hit. Such a step is made again, as its caller would. */
  readonly deadlocks: string[] = [];

  private constructor(pool: pg.Pool, s: Scene, cases: readonly Case[]) {
    this.#pool = pool;
    this.#scene = s;
    this.cases = cases;
  }

  static connect(url: string): pg.Pool {
    const pool = new pg.Pool({ connectionString: url, max: WRITERS });
    // The database is dropped while the last of them close.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }

  /** Every request marked, its lease over where the scenario says so. */
  static async begin(pool: pg.Pool, scenarios: readonly Scenario[]): Promise<Writers> {
    const s = await scene(pool);
    await pool.query(
      `update sendledger.route set breaker_threshold = 1000000, max_open_submissions = 10000, max_in_flight_requests = 10000,
         max_in_flight_rows = 100000 where id = $1`,
      [s.routeId],
    );
    // The lane whose windows are over as soon as they begin.
    await pool.query(
      `update sendledger.lane set receipt_within = '1 microsecond' where route_id = $1 and message_class = 'promotional'`,
      [s.routeId],
    );
    await enqueue(
      pool,
      scenarios.flatMap((scenario, i) =>
        Array.from({ length: scenario.recipients }, (_, j) => ({
          route: s.name,
          recipient: recipientOf(i, j),
          body: `Order ${i}`,
          messageClass: LANES[scenario.windowOver ? 1 : 0],
        })),
      ),
    );
    const cases: Case[] = [];
    for (const lane of LANES) {
      await claim(pool, claimRequest(s, lane));
      for (const submission of await markNext(pool, markRequest(s, lane))) {
        const place = Number(submission.rows[0]?.body.slice('Order '.length));
        const scenario = scenarios[place];
        if (scenario === undefined || submission.rows.length !== scenario.recipients)
          throw new Error(`request ${submission.id} fits no scenario`);
        cases.push({ scenario, submission, decided: new Map(), proven: new Set() });
      }
    }
    if (cases.length !== scenarios.length) throw new Error(`${cases.length} of ${scenarios.length} are marked`);
    await endLeases(
      pool,
      cases.filter((c) => c.scenario.leaseEnds).map((c) => c.submission.id),
    );
    return new Writers(pool, s, cases);
  }

  /** Everything that happens, in an order that `dice` decides, on all connections at once. */
  async run(dice: () => number): Promise<void> {
    const steps = shuffled([...(await this.#stepsOfCases()), ...this.#pages(dice), ...this.#rounds()], dice);
    const worker = async () => {
      for (let step = steps.shift(); step !== undefined; step = steps.shift()) await this.#take(step);
    };
    const ended = await Promise.allSettled(Array.from({ length: WRITERS }, worker));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
    await this.#settle();
  }

  async #take(step: Step): Promise<void> {
    for (;;)
      try {
        await step.run();
        return;
      } catch (error) {
        if ((error as { code?: unknown }).code !== '40P01') throw new Error(`${step.name} failed`, { cause: error });
        this.deadlocks.push(`${step.name}, ${(error as { where?: string }).where ?? 'in a statement'}`);
      }
  }

  async #stepsOfCases(): Promise<Step[]> {
    const steps: Step[] = [];
    for (const c of this.cases) {
      const { scenario, submission } = c;
      if (scenario.reply !== 'none')
        for (let i = 0; i < (scenario.replyTwice ? 2 : 1); i++)
          steps.push({ name: 'reply', run: () => this.#reply(c, i) });
      if (scenario.decision !== null)
        for (const rows of scenario.together ? [submission.rows] : submission.rows.map((row) => [row])) {
          const item = await this.#ask(rows);
          steps.push({ name: 'decision', run: () => this.#decide(c, item, rows) });
        }
      for (const row of submission.rows) {
        if (scenario.proof) steps.push({ name: 'proof', run: () => this.#prove(c, row) });
        if (scenario.replay)
          steps.push({
            name: 'replay',
            run: () => durably(this.#pool, (sql) => replay(sql, { message: row, who: 'asha', why: 'asked for it' })),
          });
      }
    }
    return steps;
  }

  /** What the provider reports, in pages that hold records of many requests. */
  #pages(dice: () => number): Step[] {
    const records = shuffled(
      this.cases.flatMap((c) =>
        c.submission.rows.flatMap((row, i) =>
          (c.scenario.words[i] ?? []).map((status) => recordOf(c, row, status, c.scenario.pinned || dice() < 0.2)),
        ),
      ),
      dice,
    );
    const pages: Step[] = [];
    while (records.length > 0) {
      const page = records.splice(0, 1 + Math.floor(dice() * 8));
      pages.push({ name: 'receipts', run: () => this.#receive(page) });
    }
    return pages;
  }

  #rounds(): Step[] {
    const often = (step: Step) => Array.from({ length: 6 }, () => step);
    return [
      ...often({ name: 'sweep of leases', run: () => durably(this.#pool, (sql) => sweepMarkedLeases(sql, 5)) }),
      ...often({ name: 'deadlines', run: () => this.#expire() }),
      ...often({ name: 'waiting receipts', run: () => this.#applyWaiting() }),
      ...often({ name: 'claim', run: () => this.#claim() }),
    ];
  }

  async #reply(c: Case, time: number): Promise<void> {
    const { scenario, submission } = c;
    const breaker = { routeId: this.#scene.routeId, sign: scenario.accepted ? 'alive' : 'failure' } as const;
    const outcome =
      scenario.reply === 'refused_for_now'
        ? outcomeOf(submission, 'refused', { to: 'retry', breaker })
        : scenario.reply === 'ambiguous_named'
          ? outcomeOf(submission, 'ambiguous', { providerTxnId: txnOf(c), breaker })
          : outcomeOf(submission, scenario.reply === 'none' ? 'ambiguous' : scenario.reply, { breaker });
    // A second time, by somebody who does not keep a breaker.
    const { breaker: _, ...quiet } = outcome;
    await durably(this.#pool, (sql) => applyOutcomes(sql, [time === 0 ? outcome : quiet]));
  }

  async #ask(rows: readonly RowRef[]): Promise<string> {
    const [first] = rows;
    if (first === undefined) throw new Error('a request without rows');
    const subject = `messages ${rows.map((row) => row.id).join(' ')}`;
    await openReview(this.#pool, {
      kind: 'absence_not_proven',
      subject,
      message: first,
      evidence: { messages: rows.map((row) => ({ id: row.id, created_at: row.createdAt.toISOString() })) },
    });
    const [item] = await rowsOf<{ id: string }>(
      this.#pool,
      'select id from sendledger.review_item where subject = $1',
      [subject],
    );
    return item?.id ?? '';
  }

  async #decide(c: Case, id: string, rows: readonly RowRef[]): Promise<void> {
    const { decision } = c.scenario;
    if (decision === null) return;
    const as = decision === 'not_sent_and_replay' ? 'not_sent' : decision;
    const request = { id, as, by: 'asha', why: 'looked at it', replay: decision === 'not_sent_and_replay' };
    const answer = await durably(this.#pool, (sql) => resolveReview(sql, request));
    if (answer.answer !== 'resolved' || as === 'leave') return;
    const left = new Set(answer.left.map((row) => row.id));
    for (const row of rows) if (!left.has(row.id)) c.decided.set(row.id, as);
  }

  /** As the resolver does: it reads what is unknown, then its report, and then settles what still is. */
  async #prove(c: Case, row: RowRef): Promise<void> {
    const [now] = await rowsOf<{ state: string }>(
      this.#pool,
      'select state::text as state from sendledger.outbound_message where id = $1 and created_at = $2',
      [row.id, row.createdAt],
    );
    if (now?.state !== 'unknown') return;
    const { moved } = await durably(this.#pool, (sql) =>
      settleAsNotSent(sql, [row], {
        reason: 'proven_not_submitted',
        proof: 'absent from a complete report',
        proven: true,
        correlation: 'not_found',
        windowMs: 720_000,
      }),
    );
    if (moved.length > 0) c.proven.add(row.id);
  }

  /** Stored first and applied after, in two transactions, as wherever a receipt comes from. */
  async #receive(records: readonly ReceiptRecord[]): Promise<void> {
    const { hashes } = await durably(this.#pool, (sql) => recordReceipts(sql, this.#origin(), records));
    await this.#apply(hashes);
  }

  async #apply(hashes: readonly Buffer[]): Promise<void> {
    const { successors } = await durably(this.#pool, (sql) => applyReceipts(sql, this.#origin(), hashes));
    for (const successor of successors) await sweepCancelled(this.#pool, successor);
  }

  async #applyWaiting(): Promise<number> {
    const taken = await durably(this.#pool, (sql) => takeWaitingReceipts(sql, 500, ['smsgatewaycenter/default']));
    const ours = taken.filter(({ origin }) => origin.routeId === this.#scene.routeId);
    if (ours.length > 0) await this.#apply(ours.map((receipt) => receipt.hash));
    return ours.length;
  }

  async #expire(): Promise<number> {
    const over = this.cases.filter((c) => c.scenario.windowOver).map((c) => c.submission.id);
    return durably(this.#pool, (sql) => expireUnconfirmed(sql, over));
  }

  async #claim(): Promise<void> {
    for (const lane of LANES) await claim(this.#pool, claimRequest(this.#scene, lane));
  }

  /** Nobody writes any more, and what waits is looked at until nothing moves. */
  async #settle(): Promise<void> {
    for (let moved = 1; moved > 0; ) {
      const lost = await durably(this.#pool, (sql) => sweepMarkedLeases(sql, 1_000));
      await this.#pool.query(
        `update sendledger.delivery_receipt set next_look_at = now() where applied_at is null and route_id = $1`,
        [this.#scene.routeId],
      );
      const before = await this.#unapplied();
      await this.#applyWaiting();
      moved = lost.rows + (await this.#expire()) + before - (await this.#unapplied());
    }
    await this.#claim();
  }

  async #unapplied(): Promise<number> {
    const [row] = await rowsOf<{ n: number }>(
      this.#pool,
      'select count(*)::int as n from sendledger.delivery_receipt where applied_at is null and route_id = $1',
      [this.#scene.routeId],
    );
    return row?.n ?? 0;
  }

  #origin(): ReceiptOrigin {
    return { routeId: this.#scene.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' };
  }
}

/** No two requests of a run share a number. */
const recipientOf = (place: number, recipient: number) => `91${9_000_000_000 + place * 2 + recipient}`;

function recordOf(
  c: Case,
  row: { id: string; createdAt: Date; recipient: string },
  status: 'open' | 'delivered' | 'failed',
  pinned: boolean,
): ReceiptRecord {
  return {
    providerTxnId: txnOf(c),
    providerMessageId: `pm-${row.id}`,
    recipient: row.recipient,
    senderId: null,
    statusWord: status,
    status,
    cause: null,
    causeClass: null,
    submittedAt: null,
    deliveredAt: null,
    evidence: {},
    ...(pinned ? { message: { id: row.id, createdAt: row.createdAt } } : {}),
  };
}

/** The time of a lease passes, which no statement of the ledger can make it do. */
async function endLeases(pool: pg.Pool, submissions: readonly string[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(
      `update sendledger.submission set lease_until = now() - interval '1 s' where id = any ($1::bigint[])`,
      [submissions],
    );
    await client.query('commit');
  } finally {
    client.release();
  }
}
