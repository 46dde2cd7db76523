import type { Sql } from '@sendledger/core/ledger';
import { duplicates, shopAgainstLedger } from './checks.ts';
import { billed, readLedger } from './ledger-reading.ts';
import { readBooks } from './simulator-books.ts';

/** What `--json` prints, in this order. Money is decimal text. */
export interface Summary {
  readonly enqueued: number;
  readonly delivered: number;
  readonly failed: number;
  readonly rejected: number;
  readonly expired: number;
  readonly unknown: number;
  /** Rows neither final nor unknown. */
  readonly open: number;
  readonly gatewayAccepted: number;
  readonly lost: number;
  readonly duplicates: number;
  readonly billed: string;
  readonly gatewayBilled: string;
  /** From the first enqueue to the last row that settled. */
  readonly seconds: number;
}

/** The books of all three, and everything in them that breaks a promise. */
export interface Verdict {
  readonly summary: Summary;
  readonly broken: readonly string[];
}

/** What ledger and gateway said before the run: rows of an earlier one are not this one's. */
export interface BooksBefore {
  readonly rows: number;
  readonly billed: string;
  readonly gatewayBilled: string;
}

export async function booksBefore(sql: Sql, simulatorUrl: string): Promise<BooksBefore> {
  const { rows } = await readLedger(sql);
  return { rows, billed: await billed(sql), gatewayBilled: (await readBooks(simulatorUrl)).billed };
}

export interface Run {
  /** Messages answered `created`. */
  readonly created: number;
  readonly seconds: number;
  readonly before: BooksBefore;
}

export async function judge(sql: Sql, simulatorUrl: string, { created, seconds, before }: Run): Promise<Verdict> {
  const ledger = await readLedger(sql);
  const { lost, uncalled } = await shopAgainstLedger(sql);
  const books = await readBooks(simulatorUrl);
  const of = (state: keyof typeof ledger.states) => ledger.states[state] ?? 0;
  const summary: Summary = {
    enqueued: created,
    delivered: of('delivered'),
    failed: of('failed'),
    rejected: of('rejected'),
    expired: of('expired'),
    unknown: of('unknown'),
    open: ledger.open,
    gatewayAccepted: books.accepted,
    lost,
    duplicates: await duplicates(sql, simulatorUrl),
    billed: lessBefore(await billed(sql), before.billed),
    gatewayBilled: lessBefore(books.billed, before.gatewayBilled),
    seconds: Math.round(seconds * 10) / 10,
  };
  const broken: string[] = [];
  if (created === 0) broken.push('nothing was enqueued');
  if (summary.lost > 0) broken.push(`${summary.lost} messages the application called for have no settled row`);
  if (summary.duplicates > 0) broken.push(`${summary.duplicates} texts were accepted by the gateway more than once`);
  if (summary.open > 0) broken.push(`${summary.open} rows are still open`);
  if (uncalled > 0) broken.push(`${uncalled} rows belong to nothing the application has committed`);
  const rows = ledger.rows - before.rows;
  if (rows !== created) broken.push(`${created} messages were answered "created", the ledger has ${rows} rows of them`);
  // Where something is unknown the gateway may have billed what the ledger cannot know of yet.
  if (summary.unknown === 0 && summary.open === 0 && summary.billed !== summary.gatewayBilled)
    broken.push(`the ledger says ${summary.billed}, the gateway bills ${summary.gatewayBilled}`);
  return { summary, broken };
}

const DECIMALS = 4;

/** Both are decimal text with four places; no floating-point number ever holds money. */
function lessBefore(now: string, before: string): string {
  const tenThousandths = (text: string) => BigInt(text.replace('.', ''));
  const digits = String(tenThousandths(now) - tenThousandths(before)).padStart(DECIMALS + 1, '0');
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`;
}

export function describe({ summary: s, broken }: Verdict): string[] {
  const states = [
    `delivered ${s.delivered}`,
    `failed ${s.failed}`,
    `rejected ${s.rejected}`,
    `expired ${s.expired}`,
    `unknown ${s.unknown}`,
    `open ${s.open}`,
  ];
  return [
    `enqueued      ${s.enqueued} in ${s.seconds} s`,
    `ledger        ${states.join(', ')}`,
    `gateway       accepted ${s.gatewayAccepted}`,
    `money         ledger ${s.billed} INR, gateway ${s.gatewayBilled} INR${s.unknown > 0 ? ` (the ledger bills what is proven; ${s.unknown} rows are unknown)` : ''}`,
    `lost          ${s.lost}`,
    `duplicates    ${s.duplicates}`,
    ...broken.map((what) => `BROKEN        ${what}`),
  ];
}
