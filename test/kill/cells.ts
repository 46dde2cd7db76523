import { POINTS, type Point } from './points.ts';

/** `kill`: SIGKILL at the point. `stop`: SIGSTOP there, until every lease of that moment is over, and then SIGCONT. */
export const ACTIONS = ['kill', 'stop'] as const;
/** `down`: before the first message and until the last has settled; the others at the moment the process stands at its point. */
export const REDIS = ['up', 'down', 'flushed', 'restarted'] as const;
/** `restarted`: an immediate shutdown, as after a power cut, and a start. `cut`: every connection of the fleet is ended. */
export const POSTGRES = ['up', 'restarted', 'cut'] as const;
/** What becomes of every request of the cell's first messages. `hangs` and `resets` accept first. */
export const PROVIDERS = ['accepts', 'refuses', 'hangs', 'resets'] as const;

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
  /** Why no process can come to the point in this world; null: one does. Both are asserted. */
  readonly notReached: string | null;
}

/** The cells that are run, each once; {@link coverage} says what they cover. */
export function allCells(): Cell[] {
  const cells = new Map<string, Cell>();
  const add = (cell: Cell) => cells.set(cell.id, cell);
  // The whole product where nothing else happens.
  for (const point of POINTS)
    for (const action of ACTIONS) for (const provider of PROVIDERS) add(cellOf(point, action, 'up', 'up', provider));
  // Every point with every other state of Redis and of Postgres. Action and provider turn so that each pair of states
  // (Redis × Postgres × provider) comes up, too.
  const pairs: readonly (readonly [RedisState, PostgresState])[] = [
    ['down', 'restarted'],
    ['flushed', 'cut'],
    ['restarted', 'restarted'],
    ['down', 'cut'],
    ['flushed', 'restarted'],
    ['restarted', 'cut'],
    ['up', 'restarted'],
    ['up', 'cut'],
    ['down', 'up'],
    ['flushed', 'up'],
    ['restarted', 'up'],
  ];
  POINTS.forEach((point, place) => {
    for (const [turn, [redis, postgres]] of pairs.slice(0, 3).entries())
      add(cellOf(point, turning(ACTIONS, place + turn), redis, postgres, turning(PROVIDERS, place + turn)));
    // The pairs that no point needs by itself.
    const [redis, postgres] = turning(pairs.slice(3), place);
    add(cellOf(point, turning(ACTIONS, place >> 3), redis, postgres, turning(PROVIDERS, place >> 3)));
  });
  // What is still missing of Redis × Postgres × provider.
  const seen = new Set([...cells.values()].map(worldOf));
  let place = 0;
  for (const redis of REDIS)
    for (const postgres of POSTGRES)
      for (const provider of PROVIDERS) {
        if (seen.has(`${redis} ${postgres} ${provider}`)) continue;
        add(cellOf(turning(POINTS, place * 7), turning(ACTIONS, place), redis, postgres, provider));
        place++;
      }
  return [...cells.values()];
}

/**
 * A fixed tenth, for every change: each point, and each state of each column, at least once; both actions at half of the points.
 */
export function tenthOf(cells: readonly Cell[]): Cell[] {
  return POINTS.flatMap((point, place) => {
    const action = turning(ACTIONS, place);
    const plain = place % 3 === 0;
    const reached = cells.filter((cell) => cell.point === point && cell.action === action && cell.notReached === null);
    const fitting = reached.filter((cell) => (cell.redis === 'up' && cell.postgres === 'up') === plain);
    return turning(fitting.length > 0 ? fitting : reached, place);
  });
}

/** Which states some cell has, for the heading of the table. */
export function coverage(cells: readonly Cell[]): { readonly points: number; readonly worlds: number } {
  return { points: new Set(cells.map((cell) => cell.point.name)).size, worlds: new Set(cells.map(worldOf)).size };
}

export const WHOLE_PRODUCT = POINTS.length * ACTIONS.length * REDIS.length * POSTGRES.length * PROVIDERS.length;
export const WORLDS = REDIS.length * POSTGRES.length * PROVIDERS.length;

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
  const slug = point.name.replaceAll(/[^a-z]+/g, '-');
  return {
    id: `${slug}.${action}.redis-${redis}.postgres-${postgres}.${provider}`,
    point,
    action,
    redis,
    postgres,
    provider,
    seconds: secondsOf(point, postgres, provider),
    notReached:
      point.name.startsWith('match:') && provider === 'refuses' ? 'what was refused has no record to be matched' : null,
  };
}

/** As measured on two cores that had other work, too; leases and restarts are most of it. */
function secondsOf(point: Point, postgres: PostgresState, provider: ProviderState): number {
  const prelude = point.prelude === 'nothing' ? 0 : 3;
  return 4 + prelude + (postgres === 'restarted' ? 2 : 0) + (provider === 'hangs' ? 2 : 0);
}
