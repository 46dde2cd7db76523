import { randomUUID } from 'node:crypto';
import type { MessageClass } from '@sendledger/core';
import {
  applyOutcomes,
  claim,
  durably,
  endWorker,
  type MarkedSubmission,
  markNext,
  type RowRef,
  registerWorker,
  rowsOf,
  wakePolls,
} from '@sendledger/core/ledger';
import {
  type Adapter,
  createSmsGatewayCenter,
  type ProviderRecord,
  readClocks,
  startSendBudget,
} from '@sendledger/gateway';
import { type GatewaySim, type GatewaySimOptions, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { createLog, createWakeUps, ReceiptKeeper, Registry } from '@sendledger/worker';
import { ReportReader } from '../../apps/reconcile/src/read-reports.ts';
import { UnknownResolver } from '../../apps/reconcile/src/resolve-unknown.ts';
import { ScheduleChanges } from '../../apps/reconcile/src/schedule-changes.ts';
import { buildRequest } from '../../apps/submit/src/build-request.ts';
import { judgeOutcome } from '../../apps/submit/src/judge-outcome.ts';
import { CODE_TEMPLATE, furnish } from '../support/house.ts';

export interface WorldOptions {
  readonly sim?: Partial<GatewaySimOptions>;
  /** A report may miss a record for this long after its request. Default: next to nothing. */
  readonly settleWithin?: string;
  /** The IANA zone the route believes the provider writes in. */
  readonly routeZone?: string;
  /** Recipients up to which each is asked for by itself. */
  readonly filteredReads?: number;
  /** What becomes of each record of the report by days on its way to us; null: it is not in it. */
  readonly tamper?: (record: ProviderRecord) => ProviderRecord | null;
}

/** A message on its way: the row and the request it went out with. */
export interface Sent extends RowRef {
  readonly submission: MarkedSubmission;
}

/**
 * A route to a simulated provider, with real requests on the wire and the ledger's own statements, step by step in one process:
 * what the apps do, in an order that the test decides.
 */
export class World {
  readonly sim: GatewaySim;
  readonly database: TestDatabase;
  readonly adapter: Adapter;
  readonly routeId: string;
  readonly keeper: ReceiptKeeper;
  readonly #worker: string;
  readonly #impatient: Adapter;
  readonly #reader: ReportReader;
  readonly #resolver: UnknownResolver;
  readonly #changes: ScheduleChanges;

  private constructor(parts: {
    sim: GatewaySim;
    database: TestDatabase;
    adapter: Adapter;
    impatient: Adapter;
    routeId: string;
    worker: string;
    keeper: ReceiptKeeper;
    reader: ReportReader;
    resolver: UnknownResolver;
    changes: ScheduleChanges;
  }) {
    this.sim = parts.sim;
    this.database = parts.database;
    this.adapter = parts.adapter;
    this.#impatient = parts.impatient;
    this.routeId = parts.routeId;
    this.#worker = parts.worker;
    this.keeper = parts.keeper;
    this.#reader = parts.reader;
    this.#resolver = parts.resolver;
    this.#changes = parts.changes;
  }

  static async open(database: TestDatabase, options: WorldOptions = {}): Promise<World> {
    const sim = await startGatewaySim(options.sim);
    const { pool } = database;
    const routeId = await furnish(database);
    await pool.query('update sendledger.lane set settle_within = $1::interval', [
      options.settleWithin ?? '1 millisecond',
    ]);
    // The breaker has tests of its own.
    await pool.query('update sendledger.route set breaker_threshold = 1000000');
    if (options.routeZone !== undefined)
      await pool.query('update sendledger.route set provider_zone = $1', [options.routeZone]);
    const account = { baseUrl: sim.url, userid: 'demo', password: 'demopassword' };
    const real = createSmsGatewayCenter(account);
    const tamper = options.tamper ?? ((record: ProviderRecord) => record);
    const adapter: Adapter = {
      ...real,
      reportByDays: (question, onPage, signal) =>
        real.reportByDays(question, (page) => onPage(page.flatMap((record) => tamper(record) ?? [])), signal),
    };
    const impatient = createSmsGatewayCenter({
      ...account,
      timeouts: { lookup: 100, connect: 100, secureConnect: 100, response: 300, request: 400 },
      sendBudgetMs: 1_000,
    });
    const log = createLog('reconcile', 'silent', 'test');
    const worker = await registerWorker(pool, 'submit', randomUUID());
    const context = {
      pool,
      sql: pool,
      log,
      wakeUps: createWakeUps(undefined, log),
      worker,
      registry: new Registry(),
    };
    const adapters = new Map([['smsgatewaycenter/default', adapter]]);
    const keeper = new ReceiptKeeper(context);
    const policy = { concurrency: 2, pauseMs: 0, longestPauseMs: 0, filteredReads: options.filteredReads ?? 20 };
    const resolver = new UnknownResolver(context, adapters, policy, keeper);
    const reader = new ReportReader(context, adapters, policy, keeper, resolver);
    const changes = new ScheduleChanges(context, adapters, { pauseMs: 20, firstReportMs: 0 });
    return new World({
      sim,
      database,
      adapter,
      impatient,
      routeId,
      worker: worker.id,
      keeper,
      reader,
      resolver,
      changes,
    });
  }

  /** Enqueues, claims and marks one message, and makes its request. `patience: short`: it gives up on a reply after 0.3 s. */
  async send(
    to: string,
    options: { messageClass?: MessageClass; patience?: 'short' | 'long'; body?: string; heldUntil?: Date } = {},
  ): Promise<Sent> {
    const sent = await this.mark(to, options);
    await this.request(sent, options.patience);
    return sent;
  }

  async mark(
    to: string,
    options: { messageClass?: MessageClass; body?: string; heldUntil?: Date } = {},
  ): Promise<Sent> {
    const [sent] = await this.markTogether([to], options);
    if (sent === undefined) throw new Error('nothing was marked');
    return sent;
  }

  /** Messages of one request, as far as the route batches. */
  async markTogether(
    to: readonly string[],
    options: { messageClass?: MessageClass; body?: string; heldUntil?: Date } = {},
  ): Promise<Sent[]> {
    const { pool } = this.database;
    const messageClass = options.messageClass ?? 'transactional';
    const rows = await rowsOf<{ message_id: string; message_created_at: string }>(
      pool,
      'select message_id, message_created_at from sendledger.enqueue($1::json)',
      [
        JSON.stringify(
          to.map((recipient) => ({
            tenant_id: 'shop',
            channel: 'sms',
            message_class: messageClass,
            ...(messageClass === 'otp' ? CODE_TEMPLATE : {}),
            recipient,
            country: 'IN',
            event_type: 'order',
            event_id: randomUUID(),
            body: options.body ?? 'Your order is ready',
            encoding: 'GSM7',
            segments: '1',
            ascii_encoding: 'GSM7',
            ascii_segments: '1',
            ...(options.heldUntil === undefined
              ? {}
              : { scheduled_for: options.heldUntil.toISOString(), held_by: 'provider' }),
          })),
        ),
      ],
    );
    const lane = { routeId: this.routeId, messageClass, limit: to.length, workerId: this.#worker };
    // Short where a schedule is near: what cannot be marked before it is not claimed.
    await claim(pool, { ...lane, leaseMs: options.heldUntil === undefined ? 60_000 : 1_000 });
    const [submission] = await markNext(pool, { ...lane, environment: 'test', leaseMs: 600_000 });
    if (submission === undefined) throw new Error('nothing was marked');
    return rows.map((row) => ({ id: row.message_id, createdAt: new Date(row.message_created_at), submission }));
  }

  async request(sent: Sent, patience: 'short' | 'long' = 'long'): Promise<void> {
    const request = buildRequest(sent.submission, 'Asia/Kolkata');
    if ('unbuildable' in request) throw new Error(request.unbuildable);
    const adapter = patience === 'short' ? this.#impatient : this.adapter;
    const outcome = await adapter.submit(request, startSendBudget(readClocks(), 5_000));
    const policy = { retry: { baseMs: 1, longestMs: 1, tries: 3 }, firstReportMs: 0, dice: () => 0 };
    const judged = judgeOutcome(sent.submission, outcome, policy, Date.now());
    await durably(this.database.pool, (sql) => applyOutcomes(sql, [judged]));
  }

  /** Another system sends through the same account. */
  async stranger(to: string): Promise<void> {
    const form = new URLSearchParams({
      userid: 'demo',
      password: 'demopassword',
      sendMethod: 'quick',
      mobile: to,
      msg: 'from somebody else',
      senderid: 'OTHERS',
      msgType: 'text',
      output: 'json',
    });
    const reply = await fetch(`${this.sim.url}/SMSApi/send`, { method: 'POST', body: form });
    await reply.text();
  }

  /** The worker ends, so that nobody can still hold a request of it. */
  async workerEnds(): Promise<void> {
    await endWorker(this.database.pool, this.#worker);
  }

  /** One round of reconcile over everything whose look is due. */
  async look(): Promise<void> {
    await this.#reader.round();
    await this.#resolver.round();
  }

  /** One round of what is asked of the provider about the requests it holds. */
  async change(): Promise<void> {
    await this.database.pool.query('update sendledger.schedule_change set next_at = now() where ended_at is null');
    await this.#changes.round();
  }

  /** Somebody says that there is news, as a push would: the report is due at once, also where nobody reads it any more. */
  async hint(sent: Sent): Promise<void> {
    await durably(this.database.pool, (sql) => wakePolls(sql, [sent.submission]));
  }

  async row(message: RowRef) {
    const [row] = await rowsOf<{
      state: string;
      state_reason: string | null;
      cost: string | null;
      conflict: boolean;
      provider_txn_id: string | null;
      provider_message_id: string | null;
      correlation_result: string | null;
      correlation_window_ms: number | null;
      submission_state: string;
    }>(
      this.database.pool,
      `select m.state::text, m.state_reason, m.cost::text, m.conflict, m.provider_txn_id, m.provider_message_id,
         m.correlation_result::text, m.correlation_window_ms, s.state::text as submission_state
       from sendledger.outbound_message m join sendledger.submission s on s.id = m.submission_id where m.id = $1`,
      [message.id],
    );
    if (row === undefined) throw new Error(`message ${message.id} is gone`);
    return row;
  }

  async successorsOf(message: RowRef): Promise<{ id: string; state: string }[]> {
    return rowsOf(
      this.database.pool,
      'select id, state::text from sendledger.outbound_message where replaces_id = $1 order by id',
      [message.id],
    );
  }

  async reviews(): Promise<{ kind: string; message_id: string | null; evidence: Record<string, unknown> }[]> {
    return rowsOf(
      this.database.pool,
      'select kind, message_id, evidence from sendledger.review_item where resolved_at is null order by id',
    );
  }

  async close(): Promise<void> {
    this.adapter.close();
    this.#impatient.close();
    await this.sim.close();
  }
}
