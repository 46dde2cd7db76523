import { Cleanup } from '../../apps/demo/src/cleanup.ts';
import type { Cell } from './cells.ts';
import { Fleet } from './fleet.ts';
import { type CellResult, runCell } from './run-cell.ts';

/** A machine may be too busy for a fleet to come up. */
const START_TRIES = 3;

export interface MatrixOptions {
  readonly seed: number;
  readonly fleets: number;
  readonly keepLogs: boolean;
  /** Told of each cell as it ends. */
  readonly ended: (result: CellResult) => void;
}

/**
 * Runs cells in several fleets side by side, each cell in the fleet that is free. A fleet in which one was red is no ground for the
 * next: another takes its place.
 */
export async function runMatrix(
  cells: readonly Cell[],
  options: MatrixOptions,
  cleanup: Cleanup,
): Promise<CellResult[]> {
  const queue = [...cells];
  const results: CellResult[] = [];
  const lane = async (name: string) => {
    let failed = 0;
    for (let fleets = 1; queue.length > 0; fleets++) {
      const own = new Cleanup();
      cleanup.add(`end fleet ${name}`, async () => {
        const failures = await own.run();
        if (failures.length > 0) throw new Error(failures.join('; '));
      });
      const fleet = await Fleet.start(`${name}${fleets}`, own, options.keepLogs).catch(async (error: unknown) => {
        await own.run();
        if (++failed === START_TRIES) throw error;
        return null;
      });
      if (fleet === null) continue;
      for (let cell = queue.shift(); cell !== undefined; cell = queue.shift()) {
        const result = await runCell(fleet, cell, options.seed);
        results.push(result);
        options.ended(result);
        if (result.verdict === 'red') break;
      }
      await own.run();
    }
  };
  const count = Math.min(options.fleets, cells.length);
  await Promise.all(Array.from({ length: count }, (_, i) => lane(String.fromCharCode(97 + i))));
  return results;
}
