import { CLOCK_PAIRS_NEEDED, CLOCK_TOLERANCE_MS, MESSAGE_CLASSES } from '@sendledger/core';
import {
  aliveWorkers,
  classGauges,
  type LanePrice,
  lanePrices,
  listRoutes,
  missingMonths,
  openReviewCounts,
  type RouteRow,
  readDataset,
  type SharedInstance,
  type Sql,
  sharedInstances,
  strayRows,
  whyNotSending,
} from '@sendledger/core/ledger';
import { ALIVE_WITHIN_MS } from '../ledger-status.ts';
import { age } from '../output/words.ts';
import { type Check, ok, problem, warning } from './check.ts';

/** Apps without which nothing is sent, or nothing is known of what was sent. */
const NEEDED_APPS = ['claim', 'submit', 'reconcile'];

/** Months that upkeep should be ahead by; the next one must be there before its first second. */
const MONTHS_WANTED = 2;

/** Older than this, a due row waits for a reason. */
const LATE_SECONDS = { otp: 60, transactional: 600, promotional: 3_600 } as const;

export async function months(sql: Sql): Promise<Check> {
  const remedy = 'Run: npm run sendledger -- migrate (and let reconcile run, which makes them ahead).';
  const needed = await missingMonths(sql, 1);
  if (needed.length > 0) return problem('partitions', `missing: ${needed.join(', ')}`, remedy);
  const soon = await missingMonths(sql, MONTHS_WANTED);
  return soon.length > 0
    ? warning('partitions', `this month and the next are there, ${soon.join(', ')} not yet`, remedy)
    : ok('partitions', `this month and the next ${MONTHS_WANTED} are there`);
}

export async function strays(sql: Sql): Promise<Check> {
  const rows = await strayRows(sql);
  return rows === 0
    ? ok('default partitions', 'empty')
    : problem(
        'default partitions',
        `${rows} rows; they keep their month from being made`,
        'Move them out in one transaction: detach the default partition, make the month, insert the rows, attach it again.',
      );
}

export async function dataset(sql: Sql, environment: string): Promise<Check[]> {
  const set = await readDataset(sql);
  if (set === null)
    return [
      problem('dataset', 'it belongs to no environment', 'Run: npm run sendledger -- migrate --environment NAME'),
    ];
  return [
    set.status === 'ok'
      ? ok('dataset', `status ok, epoch ${set.epochNo}`)
      : problem(
          'dataset',
          `in ${set.status}: ${set.statusReason ?? 'no reason given'}; nothing is sent`,
          'Find out what was sent since: see docs, restore and recovery.',
        ),
    set.environment === environment
      ? ok('environment', environment)
      : problem(
          'environment',
          `the database belongs to ${set.environment}, this process to ${environment}; nothing is sent from a copy`,
          'Set SENDLEDGER_ENVIRONMENT to the name this database was migrated under, if it is no copy.',
        ),
    set.sameCluster && set.sameTimeline
      ? ok('cluster', 'the one it was migrated on, same timeline')
      : problem(
          'cluster',
          set.sameCluster
            ? 'it was promoted or restored: another timeline; nothing is sent'
            : 'it was copied to another cluster; nothing is sent',
          'Find out what was sent since: see docs, restore and recovery.',
        ),
  ];
}

/** Whether each route could send each class. Which account a submit worker serves is in its own settings, not here. */
export async function routes(sql: Sql, environment: string): Promise<Check[]> {
  const known = await listRoutes(sql);
  if (known.length === 0)
    return [
      problem('routes', 'there is none', 'Add one: npm run sendledger -- route add main --provider smsgatewaycenter'),
    ];
  const prices = await lanePrices(sql);
  const checks: Check[] = [];
  for (const route of known) {
    const lanes = prices.filter((price) => price.routeId === route.id);
    checks.push(
      lanesOf(route, lanes),
      ...pricesOf(route, lanes),
      clockOf(route),
      await sendingOf(sql, route, environment),
    );
  }
  return checks;
}

function lanesOf(route: RouteRow, lanes: readonly LanePrice[]): Check {
  const missing = lanes.filter((lane) => !lane.hasLane).map((lane) => lane.messageClass);
  return missing.length === 0
    ? ok(`lanes of ${route.name}`, MESSAGE_CLASSES.join(', '))
    : problem(
        `lanes of ${route.name}`,
        `missing: ${missing.join(', ')}; an enqueue of that class is refused`,
        `Run: npm run sendledger -- route add ${route.name} with the same options; it makes what is missing.`,
      );
}

function pricesOf(route: RouteRow, lanes: readonly LanePrice[]): Check[] {
  const check = `prices of ${route.name}`;
  const remedy = `Add one: npm run sendledger -- rate add --route ${route.name} --price DECIMAL --currency CODE`;
  const none = lanes.filter((lane) => !lane.everywhere && lane.countries.length === 0).map((lane) => lane.messageClass);
  const some = lanes.filter((lane) => !lane.everywhere && lane.countries.length > 0);
  if (none.length > 0)
    return [problem(check, `none is valid now for ${none.join(', ')}; such messages stay pending`, remedy)];
  if (some.length > 0)
    return [
      warning(
        check,
        `only for ${some.map((lane) => `${lane.messageClass} to ${lane.countries.join(' ')}`).join(', ')}; others stay pending`,
        remedy,
      ),
    ];
  return [ok(check, 'valid for every class')];
}

/** A clock that is off is a wrong zone more often than a wrong clock, and keeps absence from ever being proven. */
function clockOf(route: RouteRow): Check {
  const check = `clock of ${route.name}`;
  const { clockOffsetMs, clockPairs } = route;
  if (clockOffsetMs === null || clockPairs < CLOCK_PAIRS_NEEDED)
    return ok(check, 'not known yet: it is learned from the reports of accepted messages');
  const seconds = Math.round(clockOffsetMs / 1_000);
  const off = `${age(Math.abs(seconds))} ${seconds < 0 ? 'behind' : 'ahead of'} ours`;
  return Math.abs(clockOffsetMs) <= CLOCK_TOLERANCE_MS
    ? ok(check, `within ${CLOCK_TOLERANCE_MS / 60_000} min of ours, by ${clockPairs} pairs`)
    : problem(
        check,
        `the provider's times are ${off}: its reports are read in the wrong zone, and no message can be proven unsent`,
        `Find out its zone, then: npm run sendledger -- route set ${route.name} --zone ZONE --by NAME --why TEXT`,
      );
}

async function sendingOf(sql: Sql, route: RouteRow, environment: string): Promise<Check> {
  const reasons = new Set<string>();
  for (const messageClass of MESSAGE_CLASSES)
    for (const reason of await whyNotSending(sql, { routeId: route.id, messageClass }, environment))
      if (reason !== 'there is no such lane') reasons.add(reason);
  return reasons.size === 0
    ? ok(`sending by ${route.name}`, 'nothing holds it back')
    : problem(`sending by ${route.name}`, [...reasons].join('; '), 'Take away what holds it, once its reason is gone.');
}

export async function workers(sql: Sql): Promise<Check[]> {
  const known = await aliveWorkers(sql, ALIVE_WITHIN_MS);
  const apps = [...new Set([...NEEDED_APPS, ...known.map((w) => w.app)])];
  const alive = apps.map((app) => {
    const found = known.find((w) => w.app === app);
    if (found !== undefined && found.alive > 0) return ok(`worker ${app}`, `${found.alive} alive`);
    const last = found === undefined ? 'never seen' : `last seen ${found.lastSeenAt.toISOString()}`;
    return warning(`worker ${app}`, `none alive (${last})`, `Start one: npm run start:${app}`);
  });
  return [...alive, ...(await sharedInstances(sql)).map(nameShared)];
}

/** A newer process of the same name ends the older one in the books, and its open requests may count as nobody's. */
function nameShared({ app, instance, overlapping }: SharedInstance): Check {
  return warning(
    `instance ${instance}`,
    `${overlapping} of app ${app} gave signs of life after a newer process of the same name had declared them ended`,
    'Give each process a SENDLEDGER_INSTANCE of its own, and let one end before its successor starts.',
  );
}

export async function reviews(sql: Sql): Promise<Check> {
  const open = await openReviewCounts(sql);
  return open.length === 0
    ? ok('reviews', 'none open')
    : warning(
        'reviews',
        `open: ${open.map((r) => `${r.open} ${r.kind}`).join(', ')}`,
        'Each waits for a person: npm run sendledger -- review list',
      );
}

export async function oldestDue(sql: Sql): Promise<Check[]> {
  return (await classGauges(sql)).map(({ messageClass, oldestDueSeconds }) => {
    const check = `due ${messageClass}`;
    if (oldestDueSeconds === 0) return ok(check, 'none');
    const detail = `the oldest is due for ${age(oldestDueSeconds)}`;
    return oldestDueSeconds <= LATE_SECONDS[messageClass]
      ? ok(check, detail)
      : warning(check, detail, 'Look at the workers and at what holds the routes, above.');
  });
}
