import type { BackfillSummary } from '@sendledger/core/ledger';
import { type Html, html } from '../html.ts';
import { type Cell, table } from '../table.ts';
import { count, instant } from '../words.ts';

/** Backfills that run, and the last that ended. A day is one call, of one account. */
export function backfillPanel(runs: readonly BackfillSummary[]): Html {
  if (runs.length === 0) return html`<p class="note">No backfill was ever started.</p>`;
  return table(
    [
      { title: 'Run' },
      { title: 'State' },
      { title: 'Days', figure: true },
      { title: 'Receipts that are new', figure: true },
      { title: 'Match nothing', figure: true },
      { title: 'Bad rows', figure: true },
      { title: 'Started' },
    ],
    runs.map(({ days, ...run }): Cell[] => [
      { shows: `${run.id}: ${run.from} to ${run.to}` },
      { shows: days.failing > 0 ? `${run.state}, ${count(days.failing)} put off` : run.state, alarm: days.failing > 0 },
      {
        shows: html`${count(days.applied)} of ${count(days.total)} <progress max="${days.total}" value="${days.applied}"></progress>`,
      },
      // Decimal text: a run may count more than a number holds.
      { shows: count(BigInt(run.fresh)) },
      { shows: count(BigInt(run.orphans)), alarm: run.orphans !== '0' },
      { shows: count(BigInt(run.badRows)), alarm: run.badRows !== '0' },
      { shows: `${instant(run.startedAt)}, ${run.startedBy}` },
    ]),
  );
}
