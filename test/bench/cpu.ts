import { readdirSync, readFileSync } from 'node:fs';
import { rowsOf, type Sql } from '@sendledger/core/ledger';

/** Processor time so far, microseconds: this process and the Postgres server with all its backends. */
export type CpuReader = () => Promise<number>;

const MICROS_A_TICK = 10_000;

/**
 * Reads `/proc`; where there is none, or the server is another host, only this process is counted and the ratios say less.
 */
export async function cpuMicros(sql: Sql): Promise<CpuReader> {
  const postmaster = await postmasterOf(sql);
  return async () => {
    const { user, system } = process.cpuUsage();
    return user + system + (postmaster === null ? 0 : treeMicros(postmaster));
  };
}

/** Null where the server is not a process of this host. */
export async function postmasterOf(sql: Sql): Promise<number | null> {
  const [row] = await rowsOf<{ pid: number }>(sql, 'select pg_backend_pid() as pid');
  return row === undefined ? null : (statOf(row.pid)?.parent ?? null);
}

/** Processor time so far of a process, of its children of now, and of those that have ended; microseconds, in steps of ten thousand. */
export function treeMicros(pid: number): number {
  const self = statOf(pid);
  if (self === null) return 0;
  let ticks = self.own + self.children;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(name);
    if (stat?.parent === pid) ticks += stat.own;
  }
  return ticks * MICROS_A_TICK;
}

/** Processor time of everything on this host since it started, microseconds; what stood idle or waited for a disk is left out. */
export function hostMicros(): number {
  try {
    const [, user, nice, system, , , irq, softirq] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '')
      .split(/\s+/)
      .map(Number);
    return ((user ?? 0) + (nice ?? 0) + (system ?? 0) + (irq ?? 0) + (softirq ?? 0)) * MICROS_A_TICK;
  } catch {
    return Number.NaN;
  }
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
