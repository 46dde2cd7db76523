import type { MessageChannel, MessageClass, MessageState } from '../../domain/state.ts';
import { FINAL_STATES, MESSAGE_STATES } from '../../domain/state.ts';
import type { ReceiptSource } from '../receipt-record.ts';
import { countOf, rowsOf, type Sql } from '../sql.ts';
import { type Latencies, latencies, type Quantiles } from './latencies.ts';
import { countLately, countOpen, type LateCount, type StateCount } from './message-counts.ts';
import type { NewestReceipts, ReceiptWatch } from './receipt-ages.ts';

/** What was counted of one class on one channel. */
export interface CensusCell {
  readonly messageClass: MessageClass;
  readonly channel: MessageChannel;
  /** Open states: all there are. Final ones: of the messages enqueued within the span. */
  readonly states: Readonly<Record<MessageState, number>>;
  /** Of the last hour: still waiting for a receipt, over everything submitted; 0 when nothing was. */
  readonly pendingRatio: number;
  /** Of the last hour: unknown, over everything that was requested; 0 when nothing was. */
  readonly unknownShare: number;
  readonly submit: Quantiles | null;
  readonly delivery: Quantiles | null;
}

/** What one count found. */
export interface CensusFigures {
  readonly cells: readonly CensusCell[];
  readonly newestReceipts: NewestReceipts;
}

export interface Census extends CensusFigures {
  readonly countedAt: Date;
  readonly tookMs: number;
  /** Hours back that final states were counted. */
  readonly spanHours: number;
}

/** Counts. Takes as long as what is open and what was enqueued within `spanHours` is large; nobody waits for it. */
export async function takeCensus(sql: Sql, spanHours: number, receipts: ReceiptWatch): Promise<CensusFigures> {
  return {
    cells: cellsOf(await countOpen(sql), await countLately(sql, spanHours), await latencies(sql)),
    newestReceipts: await receipts.look(sql),
  };
}

function cellsOf(
  open: readonly StateCount[],
  late: readonly LateCount[],
  speeds: readonly Latencies[],
): readonly CensusCell[] {
  const cells = new Map<string, CensusCell>();
  for (const { messageClass, channel } of [...open, ...late]) {
    const here = (one: { messageClass: string; channel: string }) =>
      one.messageClass === messageClass && one.channel === channel;
    const lately = late.filter(here);
    const states = noMessages();
    for (const count of open.filter(here)) states[count.state] += count.rows;
    for (const count of lately) if (isEnd(count.state)) states[count.state] += count.rows;
    const sum = (of: 'requested' | 'submitted', state?: MessageState) =>
      lately.filter((count) => state === undefined || count.state === state).reduce((total, c) => total + c[of], 0);
    const speed = speeds.find(here);
    cells.set(`${messageClass} ${channel}`, {
      messageClass,
      channel,
      states,
      pendingRatio: share(sum('submitted', 'submitted'), sum('submitted')),
      unknownShare: share(sum('requested', 'unknown'), sum('requested')),
      submit: speed?.submit ?? null,
      delivery: speed?.delivery ?? null,
    });
  }
  return [...cells.values()];
}

const isEnd = (state: MessageState) => (FINAL_STATES as readonly string[]).includes(state);
const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole);

/** Zero of each state: a state that nobody is in is a figure too. */
export function noMessages(): Record<MessageState, number> {
  return Object.fromEntries(MESSAGE_STATES.map((state) => [state, 0])) as Record<MessageState, number>;
}

/** What was counted last, by whoever did; null before the first time. */
export async function readCensus(sql: Sql): Promise<Census | null> {
  const [row] = await rowsOf<{ at: Date | null; took: number; figures: StoredFigures }>(
    sql,
    'select c.counted_at as at, c.took_ms as took, c.figures from sendledger.census c',
  );
  if (row === undefined || row.at === null) return null;
  const { poll, push, day, reply } = row.figures.newestReceipts;
  return {
    countedAt: row.at,
    tookMs: row.took,
    spanHours: row.figures.spanHours,
    cells: row.figures.cells,
    newestReceipts: { poll: stored(poll), push: stored(push), day: stored(day), reply: stored(reply) },
  };
}

/** As they lie in the row: JSON has no instants. */
interface StoredFigures {
  readonly spanHours: number;
  readonly cells: readonly CensusCell[];
  readonly newestReceipts: Readonly<Record<ReceiptSource, string | null>>;
}

const stored = (text: string | null) => (text === null ? null : new Date(text));

/**
 * Makes this process the one that counts, or keeps it so, for `forMs`. One process of the fleet holds it: whoever asks first once the
 * time of the one before is over.
 */
export async function holdCensus(sql: Sql, workerId: string, forMs: number): Promise<boolean> {
  const held = await countOf(
    sql,
    `update sendledger.census set holder = $1, held_until = now() + $2 * interval '1 ms'
     where only_row and (holder = $1 or holder is null or held_until < now())`,
    [workerId, forMs],
  );
  return held === 1;
}

/** Writes what was counted, unless another process holds it by now. */
export async function writeCensus(sql: Sql, workerId: string, census: Omit<Census, 'countedAt'>): Promise<boolean> {
  const { tookMs, ...figures } = census;
  const written = await countOf(
    sql,
    'update sendledger.census set counted_at = now(), took_ms = $2, figures = $3 where only_row and holder = $1',
    [workerId, Math.round(tookMs), JSON.stringify(figures)],
  );
  return written === 1;
}

/** Lets the next one count at once. */
export async function leaveCensus(sql: Sql, workerId: string): Promise<void> {
  await sql.query('update sendledger.census set holder = null, held_until = null where only_row and holder = $1', [
    workerId,
  ]);
}
