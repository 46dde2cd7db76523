import type { MessageState } from '@sendledger/core';
import type { BackfillSummary, Overview } from '@sendledger/core/ledger';
import { type Html, html } from '../html.ts';
import { page } from '../page.ts';
import { age, count, instant, seconds } from '../words.ts';
import { backfillPanel } from './backfill-panel.ts';
import { endedTable, openTable, paceTable, reviewsTable, routesTable, workersTable } from './tables.ts';

const EVERY_MS = 5_000;
const RELOAD_S = 15;

/** Of Redis: it answers, it does not, or none is configured. */
export type RedisState = 'up' | 'down' | 'none';

export interface OverviewView {
  readonly overview: Overview;
  readonly redis: RedisState;
  readonly backfills: readonly BackfillSummary[];
}

/** The first page: is anything stuck, and which rows need a person. */
export function overviewPage(view: OverviewView): string {
  return page(
    'Overview',
    '/',
    html`<p class="notice" data-stale hidden>The figures below are not being renewed: ops does not answer.</p>
<div data-refresh="/overview/figures" data-every="${EVERY_MS}">
${overviewFigures(view)}
</div>`,
    html`<noscript><meta http-equiv="refresh" content="${RELOAD_S}"></noscript>
<script src="/static/refresh.js" defer></script>`,
  );
}

/** The part that changes. */
export function overviewFigures({ overview, redis, backfills }: OverviewView): Html {
  const { census, cells } = overview;
  const counted =
    census === null
      ? 'Nothing has been counted yet.'
      : `Counted ${age((overview.at.getTime() - census.countedAt.getTime()) / 1000)} ago, which took ${seconds(census.tookMs / 1000)}.`;
  const span =
    census === null ? '' : ` enqueued in the last ${census.spanHours === 1 ? 'hour' : `${census.spanHours} hours`}`;
  return html`${notices(overview, redis).map((text) => html`<p class="notice">${text}</p>`)}
${cards(overview)}
<h2>Open now</h2>
<p class="note">Every message that can still move, however old. ${counted} The oldest due is as of now.</p>
${cells.length === 0 ? html`<p class="note">No lane and no message yet.</p>` : openTable(cells)}
<h2>Ended</h2>
<p class="note">Of the messages${span}, those that will not move again.</p>
${cells.length === 0 ? '' : endedTable(cells)}
<h2>Pace</h2>
<p class="note">Of the messages enqueued in the last hour. Without receipt: still waiting for one, over everything submitted. Unknown: nobody can say, over everything requested.
To acceptance: from the time it was wanted. To delivery: from acceptance.</p>
${cells.length === 0 ? '' : paceTable(cells)}
<h2>Routes</h2>
${routesTable(overview.lanes)}
<h2>For a person to decide</h2>
${reviewsTable(overview)}
<h2>Workers</h2>
<p class="note">Alive: gave a sign of life within half a minute.</p>
${workersTable(overview)}
<h2>Backfill</h2>
${backfillPanel(backfills)}
<p class="note">As of ${instant(overview.at)}.</p>`;
}

function notices({ dataset, strayRows, census }: Overview, redis: RedisState): string[] {
  return [
    ...(dataset !== null && dataset.status !== 'ok'
      ? [`Nothing is sent: the dataset is in ${dataset.status} (${dataset.reason ?? 'no reason given'}).`]
      : []),
    ...(redis === 'down'
      ? ['Redis does not answer: the fleet works by polling, slower and without losing anything.']
      : []),
    ...(strayRows > 0 ? [`${count(strayRows)} rows lie in a default partition, and block making their month.`] : []),
    ...(census === null ? ['The counts are not there yet; they come within seconds of the first start.'] : []),
  ];
}

function cards(overview: Overview): Html {
  const all = (state: MessageState) => overview.cells.reduce((sum, cell) => sum + cell.states[state], 0);
  const oldest = Math.max(0, ...overview.cells.map((cell) => cell.oldestDueSeconds));
  const reviews = overview.reviews.reduce((sum, review) => sum + review.open, 0);
  const card = (value: string, what: string, alarm = false) =>
    html`<li><b${alarm ? html` class="alarm"` : ''}>${value}</b><span>${what}</span></li>`;
  return html`<ul class="cards">
${card(oldest === 0 ? 'none due' : age(oldest), 'oldest due')}
${card(count(all('pending') + all('retry')), 'wait to be sent')}
${card(count(all('submitted')), 'wait for a receipt')}
${card(count(all('unknown')), 'unknown', all('unknown') > 0)}
${card(overview.lastReceiptSeconds === null ? 'never' : `${age(overview.lastReceiptSeconds)} ago`, 'last receipt')}
${card(count(reviews), 'for a person to decide', reviews > 0)}
</ul>`;
}
