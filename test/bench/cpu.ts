import { readdirSync, readFileSync } from 'node:fs';
import { rowsOf, type Sql } from '@sendledger/core/ledger';

/** Processor time so far, microseconds: this process and the Postgres server with all its backends. */
export type CpuReader = () => Promise<number>;

const MICROS_A_TICK = 10_000;

/**
 * Reads `/proc`; where there is none, or the server is another host, only this process is counted and the ratios say less.
 */
export async function cpuMicros(sql: Sql): Promise<CpuReader> {
  const [row] = await rowsOf<{ pid: number }>(sql, 'select pg_backend_pid() as pid');
  const postmaster = row === undefined ? null : parentOf(row.pid);
  return async () => {
    const { user, system } = process.cpuUsage();
    return user + system + (postmaster === null ? 0 : ticksOf(postmaster) * MICROS_A_TICK);
  };
}

interface Stat {
  readonly parent: number;
  /** Of the process. */
  readonly own: number;
  /** Of its children that have ended. */
  readonly children: number;
}

function statOf(pid: number | string): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name may hold blanks and brackets; the fields begin behind its last one.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const number = (field: number) => Number(fields[field - 3]);
    return { parent: number(4), own: number(14) + number(15), children: number(16) + number(17) };
  } catch {
    return null;
  }
}

const parentOf = (pid: number) => statOf(pid)?.parent ?? null;

/** The postmaster, its backends of now, and those that have ended. */
function ticksOf(postmaster: number): number {
  const self = statOf(postmaster);
  if (self === null) return 0;
  let ticks = self.own + self.children;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(name);
    if (stat?.parent === postmaster) ticks += stat.own;
  }
  return ticks;
}
