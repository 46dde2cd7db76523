import { POINTS, type Point } from './points.ts';

/** `kill`: SIGKILL at the point. `stop`: SIGSTOP there, until every lease of that moment is over, and then SIGCONT. */
export const ACTIONS = ['kill', 'stop'] as const;
/** `down`: before the first message and until the last has settled; the others at the moment the process stands at its point. */
export const REDIS = ['up', 'down', 'flushed', 'restarted'] as const;
/**
 * `restarted`: an immediate shutdown, as after a power cut, and a start. `cut`: every connection of the fleet is ended. `restored`: to
 * the moment before the mark of the process that stands at its point, and nothing tells.
 */
export const POSTGRES = ['up', 'restarted', 'cut', 'restored'] as const;
/** What becomes of every request of the cell's first messages. `hangs` and `resets` accept first. */
export const PROVIDERS = ['accepts', 'refuses', 'hangs', 'resets'] as const;

/** States in which the database is what it was: with every state of Redis, and of the provider. */
const BROKEN = ['up', 'restarted', 'cut'] as const satisfies readonly PostgresState[];

export type Action = (typeof ACTIONS)[number];
export type RedisState = (typeof REDIS)[number];
export type PostgresState = (typeof POSTGRES)[number];
export type ProviderState = (typeof PROVIDERS)[number];

/** One process stopped or killed at one point, in one state of the world around it. */
export interface Cell {
  readonly id: string;
  readonly point: Point;
  readonly action: Action;
  readonly redis: RedisState;
  readonly postgres: PostgresState;
  readonly provider: ProviderState;
  /** What it is expected to take on a machine with two cores. */
  readonly seconds: number;
  /** Why no first message can come to the point in this world; null: one does. Both are asserted, and the books are read. */
  readonly mustNotCome: string | null;
}

const CORE = POINTS.filter((point) => point.core);
const ASIDE = POINTS.filter((point) => !point.core);
/** Where the state of the servers turns for what only some messages come to. */
const ASIDE_WORLDS: readonly World[] = [
  ['up', 'up'],
  ['flushed', 'cut'],
  ['up', 'restarted'],
  ['down', 'up'],
];
/** What a process holds of a lost timeline: a mark, a reply, an outcome. */
const HELD_OF_A_LOST_TIMELINE: ReadonlySet<string> = new Set([
  'mark: after commit',
  'reply: before it is read',
  'reply: after it is read',
  'outcome: before commit',
]);
const ANSWERS: ReadonlySet<ProviderState> = new Set(['accepts', 'refuses']);
/** Each with every other state of Redis, and of Postgres. */
const OTHER_WORLDS: readonly (readonly [World, World, World])[] = [
  [
    ['down', 'restarted'],
    ['flushed', 'cut'],
    ['restarted', 'up'],
  ],
  [
    ['down', 'cut'],
    ['flushed', 'up'],
    ['restarted', 'restarted'],
  ],
  [
    ['down', 'up'],
    ['flushed', 'restarted'],
    ['restarted', 'cut'],
  ],
];

type World = readonly [RedisState, PostgresState];

/** The cells that are run, each once; {@link coverage} says what they cover. */
export function allCells(): Cell[] {
  const cells = new Map<string, Cell>();
  const add = (cell: Cell) => cells.set(cell.id, cell);
  // The whole product where nothing else happens.
  for (const point of CORE)
    for (const action of ACTIONS) for (const provider of PROVIDERS) add(cellOf(point, action, 'up', 'up', provider));
  // Each of these points with every other state of Redis and of Postgres. Action and provider turn.
  CORE.forEach((point, place) => {
    const turn = Math.floor(place / OTHER_WORLDS.length);
    turning(OTHER_WORLDS, place).forEach(([redis, postgres], i) => {
      add(cellOf(point, turning(ACTIONS, turn + (turn >> 2) + i), redis, postgres, turning(PROVIDERS, turn + i)));
    });
  });
  // What is still missing of Redis × Postgres × provider.
  const seen = new Set([...cells.values()].map(worldOf));
  let place = 0;
  for (const redis of REDIS)
    for (const postgres of BROKEN)
      for (const provider of PROVIDERS) {
        if (seen.has(`${redis} ${postgres} ${provider}`)) continue;
        add(cellOf(turning(CORE, place * 7), turning(ACTIONS, place), redis, postgres, provider));
        place++;
      }
  // What only some messages come to, with both actions.
  ASIDE.forEach((point, place) => {
    // What was refused has no receipt that could be pushed.
    const providers = PROVIDERS.filter((state) => point.prelude !== 'receipts are pushed' || state !== 'refuses');
    const turn = place >> 1;
    add(cellOf(point, 'kill', 'up', 'up', turning(providers, turn)));
    add(cellOf(point, 'stop', ...turning(ASIDE_WORLDS, turn), turning(providers, turn + (place & 1) + 1)));
    if (nobodyComes(point, 'refuses') !== null)
      for (const action of ACTIONS) add(cellOf(point, action, 'up', 'up', 'refuses'));
  });
  // A process that stands still while its database is restored.
  CORE.filter((point) => HELD_OF_A_LOST_TIMELINE.has(point.name)).forEach((point, i) => {
    // What hangs or is reset has no reply to stand behind, and nothing else is sent until the database is restored.
    const providers = PROVIDERS.filter((state) => !point.name.startsWith('reply:') || ANSWERS.has(state));
    for (const provider of providers) add(cellOf(point, 'stop', 'up', 'restored', provider));
    add(cellOf(point, 'kill', 'up', 'restored', turning(providers, i)));
  });
  return [...cells.values()];
}

/**
 * A fixed part, for every change, a tenth of them: of each commit on the way of every message one side, of three in four of the others, and a
 * process that wakes up in a restored database with a mark, a reply, an outcome; both actions, and each state of each column.
 */
export function tenthOf(cells: readonly Cell[]): Cell[] {
  const ways = [
    ...Map.groupBy(POINTS, (point) => `${point.core} ${point.title.split(':')[0]} ${sideOf(point)}`).values(),
  ];
  const core = ways.filter(([point]) => point?.core === true);
  const aside = ways.filter(([point]) => point?.core === false).filter((_, place) => place % 4 !== 3);
  const one = (points: readonly Point[], place: number): Cell => {
    const of = cells.filter(
      (cell) => cell.point === turning(points, place) && cell.mustNotCome === null && !isRestored(cell),
    );
    const action = of.filter((cell) => cell.action === turning(ACTIONS, place >> 1));
    const plain = action.filter((cell) => (cell.redis === 'up' && cell.postgres === 'up') === (place % 3 === 0));
    return turning(plain.length > 0 ? plain : action, place);
  };
  return [
    ...[...core, ...aside].map(one),
    ...cells.filter((cell) => isRestored(cell) && cell.action === 'stop').filter((_, place) => place % 4 === 0),
  ];
}

/** Both sides of a commit are one way; points that are none stand for themselves. */
const sideOf = ({ name }: Point) => (/: (before|after) commit$/.test(name) ? 'commit' : name);

const isRestored = (cell: Cell) => cell.postgres === 'restored';

/** Which states some cell has, for the heading of the table. */
export function coverage(cells: readonly Cell[]): { readonly points: number; readonly worlds: number } {
  return {
    points: new Set(cells.map((cell) => cell.point.title)).size,
    worlds: new Set(cells.filter((cell) => cell.postgres !== 'restored').map(worldOf)).size,
  };
}

export const WHOLE_PRODUCT = POINTS.length * ACTIONS.length * REDIS.length * POSTGRES.length * PROVIDERS.length;
/** Restored databases apart. */
export const WORLDS = REDIS.length * BROKEN.length * PROVIDERS.length;

const worldOf = (cell: Cell) => `${cell.redis} ${cell.postgres} ${cell.provider}`;

function turning<Item>(items: readonly Item[], turn: number): Item {
  const item = items[turn % items.length];
  if (item === undefined) throw new RangeError('nothing to turn through');
  return item;
}

function cellOf(
  point: Point,
  action: Action,
  redis: RedisState,
  postgres: PostgresState,
  provider: ProviderState,
): Cell {
  const slug = point.title.replaceAll(/[^a-z0-9]+/g, '-');
  return {
    id: `${slug}.${action}.redis-${redis}.postgres-${postgres}.${provider}`,
    point,
    action,
    redis,
    postgres,
    provider,
    seconds: secondsOf(point, postgres, provider),
    mustNotCome: nobodyComes(point, provider),
  };
}

function nobodyComes(point: Point, provider: ProviderState): string | null {
  return point.name.startsWith('match:') && provider === 'refuses'
    ? 'what was refused has no record to be matched'
    : null;
}

/** As measured on two cores that had other work, too; leases and restarts are most of it. */
function secondsOf(point: Point, postgres: PostgresState, provider: ProviderState): number {
  const prelude = point.prelude === 'nothing' ? 0 : 3;
  return 4 + prelude + (postgres === 'restarted' ? 2 : 0) + (provider === 'hangs' ? 2 : 0);
}
