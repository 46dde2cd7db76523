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

export async function judge(sql: Sql, simulatorUrl: string, created: number, seconds: number): Promise<Verdict> {
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
    billed: await billed(sql),
    gatewayBilled: books.billed,
    seconds: Math.round(seconds * 10) / 10,
  };
  const broken: string[] = [];
  if (created === 0) broken.push('nothing was enqueued');
  if (summary.lost > 0) broken.push(`${summary.lost} messages the application called for have no settled row`);
  if (summary.duplicates > 0) broken.push(`${summary.duplicates} texts were accepted by the gateway more than once`);
  if (summary.open > 0) broken.push(`${summary.open} rows are still open`);
  if (uncalled > 0) broken.push(`${uncalled} rows belong to nothing the application has committed`);
  if (ledger.rows !== created)
    broken.push(`${created} messages were answered "created", the ledger has ${ledger.rows} rows`);
  // Where something is unknown the gateway may have billed what the ledger cannot know of yet.
  if (summary.unknown === 0 && summary.open === 0 && summary.billed !== summary.gatewayBilled)
    broken.push(`the ledger says ${summary.billed}, the gateway bills ${summary.gatewayBilled}`);
  return { summary, broken };
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
