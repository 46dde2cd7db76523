import { FINAL_STATES, isFinal, MESSAGE_STATES } from '@sendledger/core';
import type { LaneNow, Overview, OverviewCell, Quantiles } from '@sendledger/core/ledger';
import { type Html, html } from '../html.ts';
import { type Cell, table } from '../table.ts';
import { age, count, instant, percent, seconds } from '../words.ts';

const laneOf = (cell: { messageClass: string; channel: string }): Cell => ({
  shows: `${cell.messageClass} · ${cell.channel}`,
});

/** What can still move, by state. */
export function openTable(cells: readonly OverviewCell[]): Html {
  const states = MESSAGE_STATES.filter((state) => !isFinal(state));
  return table(
    [
      { title: 'Class and channel' },
      ...states.map((title) => ({ title, figure: true })),
      { title: 'Oldest due', figure: true },
    ],
    cells.map((cell) => [
      laneOf(cell),
      ...states.map((state) => ({
        shows: count(cell.states[state]),
        alarm: state === 'unknown' && cell.states[state] > 0,
      })),
      { shows: cell.oldestDueSeconds === 0 ? 'none due' : age(cell.oldestDueSeconds) },
    ]),
    { small: true },
  );
}

/** What has ended, by state. */
export function endedTable(cells: readonly OverviewCell[]): Html {
  return table(
    [{ title: 'Class and channel' }, ...FINAL_STATES.map((title) => ({ title, figure: true }))],
    cells.map((cell) => [laneOf(cell), ...FINAL_STATES.map((state) => ({ shows: count(cell.states[state]) }))]),
    { small: true },
  );
}

/** How fast, and how much of it nobody knows about. */
export function paceTable(cells: readonly OverviewCell[]): Html {
  const quantiles = (q: Quantiles | null): Cell => ({
    shows: q === null ? 'none' : `${seconds(q.p50)} / ${seconds(q.p95)}`,
  });
  return table(
    [
      { title: 'Class and channel' },
      { title: 'Without receipt', figure: true },
      { title: 'Unknown', figure: true },
      { title: 'To acceptance, p50 / p95', figure: true },
      { title: 'To delivery, p50 / p95', figure: true },
    ],
    cells.map((cell) => [
      laneOf(cell),
      { shows: percent(cell.pendingRatio) },
      { shows: percent(cell.unknownShare), alarm: cell.unknownShare > 0 },
      quantiles(cell.submit),
      quantiles(cell.delivery),
    ]),
  );
}

/** Each route with what keeps it, or one of its lanes, from sending. */
export function routesTable(lanes: readonly LaneNow[]): Html {
  const routes = new Map<string, LaneNow[]>();
  for (const lane of lanes)
    if (!lane.retired || lane.oldestDueSeconds > 0)
      routes.set(lane.routeId, [...(routes.get(lane.routeId) ?? []), lane]);
  if (routes.size === 0) return html`<p class="note">There is no route yet: <code>sendledger route add</code>.</p>`;
  return table(
    [{ title: 'Route' }, { title: 'Channel' }, { title: 'Breaker' }, { title: 'Sends' }],
    [...routes.values()].map((own): Cell[] => {
      const [route] = own as [LaneNow, ...LaneNow[]];
      const stops = stopsOf(route, own);
      return [
        { shows: route.retired ? `${route.route} (retired)` : route.route },
        { shows: route.channel },
        {
          shows:
            route.breaker === 'closed'
              ? 'closed'
              : `open: ${route.breakerReason ?? 'no reason given'}${route.probeAt ? `, next probe ${instant(route.probeAt)}` : ''}`,
          alarm: route.breaker === 'open',
        },
        { shows: stops.length === 0 ? 'yes' : stops.map((stop) => html`<div>${stop}</div>`), alarm: stops.length > 0 },
      ];
    }),
  );
}

function stopsOf(route: LaneNow, lanes: readonly LaneNow[]): string[] {
  const said = (reason: string | null) => reason ?? 'no reason given';
  return [
    ...(route.routePausedAt === null ? [] : [`paused: ${said(route.routePauseReason)}`]),
    ...(route.hold ? [`on hold: ${said(route.holdReason)}`] : []),
    ...(route.throttledUntil === null ? [] : [`told to wait until ${instant(route.throttledUntil)}`]),
    ...lanes
      .filter((lane) => lane.lanePausedAt !== null)
      .map((lane) => `${lane.messageClass} paused: ${said(lane.lanePauseReason)}`),
  ];
}

export function reviewsTable({ reviews }: Overview): Html {
  const open = reviews.filter((review) => review.open > 0);
  if (open.length === 0) return html`<p class="note">Nobody has to decide anything.</p>`;
  return table(
    [{ title: 'Question' }, { title: 'Waiting', figure: true }, { title: 'Oldest', figure: true }],
    open.map((review) => [{ shows: review.kind }, { shows: count(review.open) }, { shows: age(review.oldestSeconds) }]),
  );
}

/** Apps of the fleet; one that was never there is shown too. */
export const APPS = ['claim', 'submit', 'reconcile', 'backfill', 'ops'] as const;

export function workersTable({ workers, at }: Overview): Html {
  return table(
    [{ title: 'App' }, { title: 'Alive', figure: true }, { title: 'Last seen', figure: true }],
    APPS.map((app) => {
      const seen = workers.find((worker) => worker.app === app);
      return [
        { shows: app },
        { shows: count(seen?.alive ?? 0), alarm: seen !== undefined && seen.alive === 0 },
        { shows: seen === undefined ? 'never' : `${age((at.getTime() - seen.lastSeenAt.getTime()) / 1000)} ago` },
      ];
    }),
  );
}
