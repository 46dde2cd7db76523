import { type Html, html } from '../html.ts';
import { type Cell, table } from '../table.ts';
import { count, instant } from '../words.ts';

/** A run over the day reports of a time, as the panel shows it. */
export interface BackfillRunView {
  readonly id: string;
  /** What it is about: `2026-03-01 to 2026-03-07`. */
  readonly label: string;
  readonly route: string | null;
  /** `running`, `done`, `failed`, … */
  readonly state: string;
  readonly daysDone: number;
  readonly daysTotal: number;
  readonly startedAt: Date;
  /** What a person should know: why it stopped, how many rows matched nothing. */
  readonly note: string | null;
}

/** Backfills that run, and the last that ended. */
export function backfillPanel(runs: readonly BackfillRunView[]): Html {
  if (runs.length === 0) return html`<p class="note">No backfill was ever started.</p>`;
  return table(
    [
      { title: 'Run' },
      { title: 'Route' },
      { title: 'State' },
      { title: 'Days', figure: true },
      { title: 'Started' },
      { title: 'Note' },
    ],
    runs.map((run): Cell[] => [
      { shows: `${run.id}: ${run.label}` },
      { shows: run.route ?? 'every route' },
      { shows: run.state, alarm: run.state === 'failed' },
      {
        shows: html`${count(run.daysDone)} of ${count(run.daysTotal)} <progress max="${run.daysTotal}" value="${run.daysDone}"></progress>`,
      },
      { shows: instant(run.startedAt) },
      { shows: run.note ?? '' },
    ]),
  );
}
