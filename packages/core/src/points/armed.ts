// The armed twin of `none.ts`: loaded only under `--conditions=sendledger-kill`, by the kill matrix. No image carries it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Within } from './none.ts';

export const ARMED: boolean = true;

/** The folder in which an order is laid and an arrival is reported. All processes of a fleet share it. */
const folder = process.env.SENDLEDGER_KILL_ORDERS;

/** "The process that comes to this point as the n-th stops itself there." */
interface Order {
  readonly id: string;
  readonly point: string;
  readonly nth: number;
}

/** The counts may hold what the last transactions of the connection wrote; that this one wrote nothing its missing id says. */
const WROTE = `select case when pg_current_xact_id_if_assigned() is null then '0'
    else coalesce(sum(t.n_tup_ins + t.n_tup_upd + t.n_tup_del), 0)::text end as rows
  from pg_stat_xact_all_tables t where t.schemaname = 'sendledger'`;

/** Connections whose last transaction wrote something: what follows its commit is an arrival, too. */
const wrote = new WeakSet<Within>();

/**
 * Takes the order that waits for this point, reports the arrival, and stops the process with SIGSTOP before it returns. Whoever
 * gave the order kills it or lets it go on. A transaction that wrote nothing has no commit worth stopping at.
 */
export function at(point: string, within?: Within): Promise<void> | undefined {
  if (within === undefined) {
    if (orderFor(point) !== undefined) obey(point);
    return undefined;
  }
  if (point.endsWith(': after commit')) {
    if (wrote.delete(within) && orderFor(point) !== undefined) obey(point);
    return undefined;
  }
  return beforeCommit(point, within);
}

async function beforeCommit(point: string, within: Within): Promise<void> {
  wrote.delete(within);
  const waiting = pending();
  // A transaction that nobody waits for is not asked: the question takes a few milliseconds.
  if (waiting === undefined || nameOf(waiting.point) !== nameOf(point)) return;
  const { rows } = await within.query(WROTE);
  if ((rows[0] as { rows: string }).rows === '0') return;
  wrote.add(within);
  if (orderFor(point) !== undefined) obey(point);
}

const nameOf = (point: string) => point.slice(0, point.lastIndexOf(':'));

function pending(): Order | undefined {
  if (folder === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(join(folder, 'order.json'), 'utf8')) as Order;
  } catch {
    return undefined;
  }
}

function orderFor(point: string): Order | undefined {
  const order = pending();
  return order?.point === point ? order : undefined;
}

function obey(point: string): void {
  if (folder === undefined) return;
  const mine = join(folder, `taken-${process.pid}.json`);
  try {
    // Of several processes that come here at once, one takes it.
    renameSync(join(folder, 'order.json'), mine);
  } catch {
    return;
  }
  const order = JSON.parse(readFileSync(mine, 'utf8')) as Order;
  if (order.point !== point || order.nth > 1) {
    const next = order.point === point ? { ...order, nth: order.nth - 1 } : order;
    publish(folder, 'order.json', next);
    return;
  }
  publish(folder, 'arrived.json', { ...order, pid: process.pid });
  // To oneself, and not blocked: the process stands before this call returns.
  process.kill(process.pid, 'SIGSTOP');
}

/** Whole or not at all for whoever reads it. */
function publish(where: string, name: string, content: object): void {
  const draft = join(where, `draft-${process.pid}.json`);
  writeFileSync(draft, JSON.stringify(content));
  renameSync(draft, join(where, name));
}
