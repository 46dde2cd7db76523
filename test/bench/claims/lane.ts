import { randomUUID } from 'node:crypto';
import { type ClaimResult, type Credits, claim, registerWorker } from '@sendledger/core/ledger';
import type pg from 'pg';
import { LaneHints } from '../../../apps/claim/src/lane-hints.ts';
import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';
import { buffersOf, withoutAutovacuum } from '../buffers.ts';
import { furnish } from '../house.ts';
import { spreadOf } from '../percentiles.ts';
import { say } from '../report.ts';
import type { Database } from '../services.ts';
import { workerPool } from '../worker-pool.ts';
import { deliverClaimed, seedWaiting } from './seed.ts';

const LEASE_MS = 60_000;

/** One claim of a lane, as a claim worker makes it. */
export interface Claimed {
  readonly ms: number;
  readonly buffers: number;
  readonly rows: number;
  /** Who had a row in it. */
  readonly tenants: readonly string[];
}

/** A lane with rows that wait, and a claim worker of its own: one connection, so that what it touches can be counted. */
export class BenchLane {
  readonly routeId: string;
  readonly workerId: string;
  readonly pool: pg.Pool;
  readonly #hints = new LaneHints();
  #credits: Credits | undefined;

  private constructor(pool: pg.Pool, routeId: string, workerId: string) {
    this.pool = pool;
    this.routeId = routeId;
    this.workerId = workerId;
  }

  static async open(database: Database, name: string, cleanup: Cleanup): Promise<BenchLane> {
    const routeId = await furnish(database.pool, { maxBatch: 1, submitWorkers: 1, name });
    // Bounds above the batch: what is measured is the statements.
    await database.pool.query(
      'update sendledger.route set max_in_flight_requests = 100000, max_in_flight_rows = 1000000, max_open_submissions = 100000 where id = $1',
      [routeId],
    );
    await withoutAutovacuum(database.pool);
    const pool = workerPool(database.url, 1, cleanup);
    const { id } = await registerWorker(pool, 'claim', randomUUID());
    return new BenchLane(pool, routeId, id);
  }

  /**
   * Claims once, and has what was claimed delivered, neither of which is part of the time.
   *
   * @param hinted with what the claims before have learned, as the claim worker does between two wake-ups; else from the lane's start
   */
  async claim(limit: number, hinted: boolean): Promise<Claimed> {
    const lane = { routeId: this.routeId, messageClass: 'transactional' } as const;
    let ms = 0;
    const once = async (): Promise<ClaimResult> => {
      const { hint, keep } = hinted ? this.#hints.begin(lane) : { hint: undefined, keep: () => undefined };
      const request = { ...lane, limit, leaseMs: LEASE_MS, workerId: this.workerId };
      const known = {
        ...(hint === undefined ? {} : { hint }),
        ...(this.#credits === undefined ? {} : { credits: this.#credits }),
      };
      const began = performance.now();
      const result = await claim(this.pool, { ...request, ...known });
      ms = performance.now() - began;
      keep(result.hint);
      this.#credits = result.credits;
      return result;
    };
    const { result, buffers } = await buffersOf(this.pool, once);
    if (result.rows === 0) throw new Error('there was nothing to claim');
    return { ms, buffers, rows: result.rows, tenants: await deliverClaimed(this.pool, this) };
  }

  /** More rows that wait, due now. */
  async refill(rows: number, tenants: readonly string[]): Promise<void> {
    await seedWaiting(this.pool, this, rows, tenants, 0);
  }
}

export function sayRound(round: number, who: string, claims: readonly Claimed[]): void {
  const { p50, max } = spreadOf(claims.map(({ ms }) => ms));
  const buffers = spreadOf(claims.map((claimed) => claimed.buffers)).p50;
  say(`round ${round + 1}, ${who}: p50 ${p50.toFixed(1)} ms, max ${max.toFixed(1)} ms, ${buffers} buffers`);
}
