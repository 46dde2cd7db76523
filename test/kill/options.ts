import { parseArgs } from 'node:util';

export interface KillOptions {
  readonly list: boolean;
  readonly tenth: boolean;
  /** Ids that must be these. */
  readonly cells: readonly string[];
  /** Parts of ids. */
  readonly only: readonly string[];
  readonly seed: number;
  readonly fleets: number;
  readonly keepLogs: boolean;
  /** Says what is red, and how many there are; no list, no line for a green one, no table. */
  readonly short: boolean;
}

export const USAGE = `npm run test:kill -- [options]

  --list          print the cells and the seconds they are expected to take, and run none
  --cell ID       run this cell; may be given several times
  --only TEXT     run the cells whose id contains the text; may be given several times
  --tenth         run the fixed tenth
  --seed N        decides the order of the cells, which arrival is struck, who wakes up again (default: a new one, printed)
  --fleets N      worlds that run cells side by side (2)
  --short         say what is red, and nothing of the others but how many there are
  --keep-logs     leave the logs of the workers where they are, and say where

Ends with 1 where a cell is red, and with 2 where the matrix could not be run.
`;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError for an unknown flag, or a value that is none. */
export function readOptions(args: readonly string[]): KillOptions | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  return {
    list: values.list,
    tenth: values.tenth,
    cells: values.cell ?? [],
    only: values.only ?? [],
    seed: whole('--seed', values.seed, 1 + Math.floor(Math.random() * 999_999)),
    fleets: whole('--fleets', values.fleets, 2),
    keepLogs: values['keep-logs'],
    short: values.short,
  };
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const;
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      options: {
        help: { ...flag, short: 'h' },
        list: flag,
        tenth: flag,
        cell: { ...text, multiple: true },
        only: { ...text, multiple: true },
        seed: text,
        fleets: text,
        'keep-logs': flag,
        short: flag,
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0] ?? 'these arguments cannot be read');
  }
}

function whole(flag: string, text: string | undefined, preset: number): number {
  if (text === undefined) return preset;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1) throw new UsageError(`${flag} takes a whole number from 1 on`);
  return value;
}
