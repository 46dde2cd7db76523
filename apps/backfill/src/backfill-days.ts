import {
  askDayById,
  type BackfillDay,
  backfillDayApplied,
  backfillDayStored,
  durably,
  giveBackBackfillDay,
  type PutOff,
  putOffBackfillDay,
  type ReceiptOrigin,
  takeBackfillDay,
} from '@sendledger/core/ledger';
import type { Adapter } from '@sendledger/gateway';
import { type AppContext, Counter, type ReceiptKeeper, type Round } from '@sendledger/worker';
import { applyDay } from './apply-day.ts';
import { DayLost, Stopping } from './day-lost.ts';
import { type ReadPolicy, readDay, type StoredDay } from './read-day.ts';

export interface BackfillPolicy extends ReadPolicy {
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

/**
 * Takes one day after another: reads it by one call, stores it, applies it, and says so. Whatever ends it in the middle, the day is taken
 * again where it was: `waiting` is read again, `stored` is not. Safe in many copies; an account is read by one at a time.
 */
export class BackfillDays {
  readonly #context: AppContext;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #policy: BackfillPolicy;
  readonly #keeper: Pick<ReceiptKeeper, 'store' | 'apply'>;
  readonly #alive: () => void;
  readonly #ending = new AbortController();
  readonly #days: Counter<'outcome'>;
  readonly #rows: Counter<'kind'>;

  /**
   * @param adapters by `provider/account`; days of other accounts are left to the processes that can read them.
   * @param alive called as a day moves: a long one is not a stuck one.
   */
  constructor(
    context: AppContext,
    adapters: ReadonlyMap<string, Adapter>,
    policy: BackfillPolicy,
    keeper: Pick<ReceiptKeeper, 'store' | 'apply'>,
    alive: () => void,
  ) {
    this.#context = context;
    this.#adapters = new Map([...adapters].filter(([, adapter]) => adapter.capabilities.lookup.byDay));
    this.#policy = policy;
    this.#keeper = keeper;
    this.#alive = alive;
    this.#days = new Counter({
      name: 'sendledger_backfill_days_total',
      help: 'Days of backfills by what became of a try: applied, not_yet, refused, unreadable, unavailable, fault or lost.',
      labelNames: ['outcome'],
      registers: [context.registry],
    });
    this.#rows = new Counter({
      name: 'sendledger_backfill_rows_total',
      help: 'Rows of day reports that were stored, by kind: record or bad.',
      labelNames: ['kind'],
      registers: [context.registry],
    });
  }

  /** Ends the call that is on the wire, and the day between two of its parts. */
  stop(): void {
    this.#ending.abort();
  }

  round = async (): Promise<Round> => {
    if (this.#ending.signal.aborted) return 'none';
    const { pool, worker } = this.#context;
    const day = await durably(pool, 'backfill day taken', (sql) =>
      takeBackfillDay(sql, {
        workerId: worker.id,
        leaseMs: this.#policy.leaseMs,
        accounts: [...this.#adapters.keys()],
      }),
    );
    if (day === null) return 'none';
    const adapter = this.#adapters.get(accountOf(day));
    if (adapter === undefined) throw new Error('a day of an account that was not asked for');
    await this.#oneDay(day, adapter);
    return 'more';
  };

  async #oneDay(day: BackfillDay, adapter: Adapter): Promise<void> {
    const { pool, log } = this.#context;
    const named = { run: day.runId, day: day.day, account: accountOf(day) };
    const origin = { routeId: day.routeId, provider: day.provider, account: day.account, source: 'day' as const };
    try {
      if (day.state === 'waiting' && !(await this.#read(day, adapter, origin))) return;
      const orphans = await applyDay(
        this.#context,
        this.#keeper,
        day,
        origin,
        this.#policy.leaseMs,
        this.#ending.signal,
        this.#alive,
      );
      if (!(await durably(pool, 'backfill day applied', (sql) => backfillDayApplied(sql, day, orphans))))
        throw new DayLost();
      this.#days.inc({ outcome: 'applied' });
      log.info({ ...named, orphans }, 'backfill_day_applied');
    } catch (err) {
      if (err instanceof DayLost) {
        this.#days.inc({ outcome: 'lost' });
        log.warn(named, 'backfill_day_lost');
      } else if (err instanceof Stopping || this.#ending.signal.aborted) {
        await durably(pool, (sql) => giveBackBackfillDay(sql, day));
      } else {
        log.error({ err, ...named }, 'backfill_day_failed');
        await this.#putOff(day, {
          kind: 'fault',
          detail: `our own fault (${codeOf(err)}); see the log`,
          inMs: this.#pause(day),
        });
      }
    }
  }

  /** Answers whether the day is stored now. */
  async #read(day: BackfillDay, adapter: Adapter, origin: ReceiptOrigin): Promise<boolean> {
    const { pool, log } = this.#context;
    const signal = this.#ending.signal;
    const named = { run: day.runId, day: day.day, account: accountOf(day) };
    if (adapter.capabilities.lookup.destructive && day.tries > 1) {
      // An earlier read may have taken the report with it (FC-32): what it may have shown is asked for by id.
      const asked = await durably(pool, (sql) => askDayById(sql, day));
      log.warn({ ...named, submissions: asked }, 'backfill_day_asked_by_id');
    }
    const answer = await readDay(this.#context, adapter, this.#keeper, day, origin, this.#policy, signal, this.#alive);
    if (answer.kind !== 'read') {
      if (signal.aborted) throw new Stopping();
      await this.#putOff(day, this.#putOffAfter(day, answer));
      log.warn({ ...named, kind: answer.kind, detail: answer.detail }, 'backfill_day_not_read');
      return false;
    }
    const badRows = answer.badRows + answer.refusedRows;
    const { rows, bytes, unmappedColumns } = answer;
    if (
      !(await durably(pool, 'backfill day stored', (sql) =>
        backfillDayStored(sql, day, { rows, badRows, bytes, unmappedColumns }),
      ))
    )
      throw new DayLost();
    this.#rows.inc({ kind: 'record' }, rows - badRows);
    this.#rows.inc({ kind: 'bad' }, badRows);
    log.info({ ...named, rows, bad_rows: badRows, bytes, unpacked_bytes: answer.unpackedBytes }, 'backfill_day_stored');
    if (unmappedColumns.length > 0) log.warn({ ...named, columns: unmappedColumns }, 'backfill_columns_not_mapped');
    return true;
  }

  #putOffAfter(day: BackfillDay, answer: Exclude<StoredDay, { kind: 'read' }>): PutOff {
    const said = answer.kind === 'not_yet' ? answer.retryAfterMs : null;
    return { kind: answer.kind, detail: answer.detail, inMs: Math.max(said ?? 0, this.#pause(day)) };
  }

  async #putOff(day: BackfillDay, putOff: PutOff): Promise<void> {
    this.#days.inc({ outcome: putOff.kind });
    await durably(this.#context.pool, (sql) => putOffBackfillDay(sql, day, putOff));
  }

  #pause({ tries }: BackfillDay): number {
    const { pauseMs, longestPauseMs } = this.#policy;
    return Math.min(longestPauseMs, pauseMs * 2 ** Math.min(Math.max(tries - 1, 0), 30));
  }
}

const accountOf = ({ provider, account }: BackfillDay) => `${provider}/${account}`;

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'no error code';
}
