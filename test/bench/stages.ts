import { rowsOf } from '@sendledger/core/ledger';
import type pg from 'pg';
import type { Committed } from './intake.ts';
import type { Accepted } from './provider-books.ts';

/** The way of one message, ms since its commit had returned. */
export interface Way {
  readonly claimed: number;
  readonly marked: number;
  /** As the provider saw it. */
  readonly wire: number;
}

const LOOK_AGAIN_MS = 200;

/**
 * Waits until every row of a class has left, for as long as that takes but not for ever.
 *
 * @throws Error when some have not after `withinMs`, or the breaker opened, with why
 */
export async function untilLeft(pool: pg.Pool, messageClass: string, withinMs: number): Promise<void> {
  for (const until = Date.now() + withinMs; ; ) {
    const [row] = await rowsOf<{ open: number; breaker: string | null }>(
      pool,
      `select (select count(*) from sendledger.outbound_message where message_class = $1::sendledger.message_class
           and state in ('pending', 'retry', 'claimed'))::integer as open,
         (select breaker_reason from sendledger.route where breaker_state = 'open') as breaker`,
      [messageClass],
    );
    if (row?.open === 0) return;
    if (typeof row?.breaker === 'string') throw new Error(`the breaker opened: ${row.breaker}`);
    if (Date.now() > until) throw new Error(`${row?.open} ${messageClass} rows have not left after ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

/** The ways of these messages; their rows must have left. */
export async function waysOf(
  pool: pg.Pool,
  committed: readonly Committed[],
  accepted: readonly Accepted[],
): Promise<Way[]> {
  const rows = await rowsOf<{ recipient: string; claimed: Date; marked: Date }>(
    pool,
    `select recipient, claimed_at as claimed, requested_at as marked from sendledger.outbound_message
     where recipient = any ($1::text[])`,
    [committed.map(({ mobile }) => mobile)],
  );
  const byMobile = new Map(rows.map((row) => [row.recipient, row]));
  const arrived = new Map(accepted.map((message) => [message.mobile, message.atMs]));
  return committed.map(({ mobile, atMs }) => {
    const row = byMobile.get(mobile);
    const wire = arrived.get(mobile);
    if (row === undefined || wire === undefined) throw new Error('a message has left and is in no books');
    return { claimed: row.claimed.getTime() - atMs, marked: row.marked.getTime() - atMs, wire: wire - atMs };
  });
}
