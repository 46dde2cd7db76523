import { MESSAGE_STATES } from '@sendledger/core';
import { auditFigures, type Overview, RECEIPT_SOURCES } from '@sendledger/core/ledger';
import { Gauge, type Registry } from '@sendledger/worker';
import type { FastifyInstance } from 'fastify';
import { APPS } from './overview/tables.ts';

/**
 * The figures of the overview for Prometheus. They are the database's and not a process's, so one process of the fleet exports them:
 * the ops process that holds the census. Another one exports only itself.
 */
export class LedgerMetrics {
  readonly #registry: Registry;
  readonly #gauges: Gauge[] = [];
  readonly #unlabelled: Gauge[] = [];
  readonly #set: ((overview: Overview) => void)[] = [];
  readonly #exporter: Gauge;
  readonly #database: Gauge;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#exporter = new Gauge({
      name: 'sendledger_ops_exporter',
      help: '1 in the ops process that exports the figures of the ledger; 0 in the others.',
      registers: [registry],
    });
    this.#database = new Gauge({
      name: 'sendledger_ops_database_up',
      help: '1 when the database answered this scrape; its figures are absent when it did not.',
      registers: [registry],
    });
    this.#define();
  }

  /** @param read null: this process is not the exporter. */
  async scrape(read: (() => Promise<Overview>) | null): Promise<string> {
    for (const gauge of this.#gauges) gauge.reset();
    this.#exporter.set(read === null ? 0 : 1);
    if (read === null) this.#drop();
    else
      try {
        const overview = await read();
        for (const set of this.#set) set(overview);
        this.#database.set(1);
      } catch {
        this.#drop();
        this.#database.set(0);
      }
    return this.#registry.metrics();
  }

  /** A gauge without labels reads 0 after a reset; one that nobody knows must be absent. */
  #drop(): void {
    for (const gauge of this.#unlabelled) gauge.remove();
  }

  #gauge<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    set: (gauge: Gauge<L>, overview: Overview) => void,
  ) {
    const gauge = new Gauge<L>({
      name: `sendledger_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
    });
    this.#gauges.push(gauge as Gauge);
    if (labelNames.length === 0) this.#unlabelled.push(gauge as Gauge);
    this.#set.push((overview) => set(gauge, overview));
  }

  #define(): void {
    const lane = ['message_class', 'channel'] as const;
    const of = (cell: { messageClass: string; channel: string }) => ({
      message_class: cell.messageClass,
      channel: cell.channel,
    });
    this.#gauge(
      'messages',
      'Messages by state: of open states all there are, of final ones those enqueued within the span of the census.',
      [...lane, 'state'],
      (g, o) => {
        for (const cell of o.cells)
          for (const state of MESSAGE_STATES) g.set({ ...of(cell), state }, cell.states[state]);
      },
    );
    this.#gauge('oldest_due_seconds', 'Age of the oldest due message; 0 when none is due.', lane, (g, o) => {
      for (const cell of o.cells) g.set(of(cell), cell.oldestDueSeconds);
    });
    this.#gauge(
      'pending_ratio',
      'Messages of the last hour still waiting for a receipt, over all that were submitted.',
      lane,
      (g, o) => {
        for (const cell of o.cells) g.set(of(cell), cell.pendingRatio);
      },
    );
    this.#gauge(
      'unknown_ratio',
      'Messages of the last hour that are unknown, over all that were requested.',
      lane,
      (g, o) => {
        for (const cell of o.cells) g.set(of(cell), cell.unknownShare);
      },
    );
    for (const [name, of_, help] of [
      [
        'acceptance_seconds',
        'submit',
        'From the time a message of the last hour was wanted to its acceptance; 0 when none was accepted.',
      ],
      [
        'delivery_seconds',
        'delivery',
        'From acceptance to delivery of messages of the last hour; 0 when none was delivered.',
      ],
    ] as const)
      this.#gauge(name, help, [...lane, 'quantile'], (g, o) => {
        for (const cell of o.cells) {
          g.set({ ...of(cell), quantile: '0.5' }, cell[of_]?.p50 ?? 0);
          g.set({ ...of(cell), quantile: '0.95' }, cell[of_]?.p95 ?? 0);
        }
      });
    this.#gauge(
      'last_receipt_seconds',
      'Seconds since the last receipt of any kind; 0 where there never was one.',
      [],
      (g, o) => {
        g.set(o.lastReceiptSeconds ?? 0);
      },
    );
    this.#gauge(
      'receipt_age_seconds',
      'Seconds since the last receipt that was new, by how it came; 3600 where there was none for an hour.',
      ['source'],
      (g, o) => {
        for (const source of RECEIPT_SOURCES) g.set({ source }, o.receiptAges[source]);
      },
    );
    for (const [name, help, is] of [
      [
        'route_breaker_open',
        '1 while the breaker of a route is open.',
        (l: Overview['lanes'][number]) => l.breaker === 'open',
      ],
      ['route_paused', '1 while a route is paused.', (l: Overview['lanes'][number]) => l.routePausedAt !== null],
      ['route_held', '1 while a route is on hold.', (l: Overview['lanes'][number]) => l.hold],
      [
        'route_throttled',
        '1 while the provider told a route to wait.',
        (l: Overview['lanes'][number]) => l.throttledUntil !== null,
      ],
    ] as const)
      this.#gauge(name, help, ['route'], (g, o) => {
        for (const one of o.lanes) if (!one.retired) g.set({ route: one.route }, is(one) ? 1 : 0);
      });
    this.#gauge('lane_paused', '1 while a lane is paused by itself.', ['route', 'message_class'], (g, o) => {
      for (const one of o.lanes)
        if (!one.retired)
          g.set({ route: one.route, message_class: one.messageClass }, one.lanePausedAt === null ? 0 : 1);
    });
    this.#gauge('dataset_ok', '1 while the dataset may send; 0 in a hold or a check.', [], (g, o) => {
      g.set(o.dataset?.status === 'ok' ? 1 : 0);
    });
    this.#gauge('reviews_open', 'Review items that wait for a person.', [], (g, o) => {
      g.set(o.reviews.reduce((sum, review) => sum + review.open, 0));
    });
    this.#gauge(
      'reviews_open_by_kind',
      'Review items that wait for a person, of each kind that was ever opened.',
      ['kind'],
      (g, o) => {
        for (const { kind, open } of o.reviews) g.set({ kind }, open);
      },
    );
    this.#gauge('reviews_oldest_seconds', 'Age of the oldest review item that waits; 0 when none does.', [], (g, o) => {
      g.set(Math.max(0, ...o.reviews.map((review) => review.oldestSeconds)));
    });
    this.#gauge(
      'workers_alive',
      'Processes that gave a sign of life within half a minute, by app.',
      ['worker'],
      (g, o) => {
        for (const worker of APPS) g.set({ worker }, o.workers.find((one) => one.app === worker)?.alive ?? 0);
      },
    );
    this.#gauge('default_partition_rows', 'Rows in a default partition; anything but 0 is an alarm.', [], (g, o) => {
      g.set(o.strayRows);
    });
    this.#gauge('audit_findings', 'What the last run of an audit found; 0 when nothing.', ['audit'], (g, o) => {
      for (const { audit, findings } of auditFigures(o.audits)) g.set({ audit }, findings);
    });
    this.#gauge(
      'audit_age_seconds',
      'Seconds since a run of an audit last ended, in any process; +Inf before the first.',
      ['audit'],
      (g, o) => {
        for (const { audit, ageSeconds } of auditFigures(o.audits)) g.set({ audit }, ageSeconds);
      },
    );
    this.#gauge(
      'census_age_seconds',
      'Seconds since the messages were last counted; 0 before the first time.',
      [],
      (g, o) => {
        g.set(o.census === null ? 0 : Math.max(0, (o.at.getTime() - o.census.countedAt.getTime()) / 1000));
      },
    );
    this.#gauge('census_took_seconds', 'How long the last count took.', [], (g, o) => {
      g.set((o.census?.tookMs ?? 0) / 1000);
    });
  }
}

export function serveMetrics(server: FastifyInstance, scrape: () => Promise<string>, contentType: string): void {
  server.get('/metrics', async (_request, reply) => reply.type(contentType).send(await scrape()));
}
