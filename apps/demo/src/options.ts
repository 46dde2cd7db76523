import { parseArgs } from 'node:util';

/** What a demo run is asked for. */
export interface DemoOptions {
  /** Messages the example application enqueues. With `input` the file decides. */
  readonly messages: number;
  /** Copies of the submit worker. */
  readonly workers: number;
  /** Makes the shop's day and the simulator's faults repeat. */
  readonly seed: number;
  readonly timeoutMs: number;
  /** A file of the user's own messages, instead of the example application. */
  readonly input: string | null;
  /** Ends by itself once every row is final or unknown. */
  readonly exit: boolean;
  /** The last line of standard output is one JSON object; everything for people goes to standard error. */
  readonly json: boolean;
  /** A mix of provider faults, about one per cent each. */
  readonly faults: boolean;
  /** Plays beside a fleet that is there, and starts nothing. */
  readonly join: boolean;
}

export const USAGE = `npm run demo -- [options]

Starts Postgres, Redis, a simulated SMS provider and the workers on this machine, and an example shop that takes orders
and tells its customers. Nothing is sent to anybody. Without --exit it goes on until Ctrl-C.

  --exit              end by itself when every message is final or unknown, with a summary
  --messages N        messages to enqueue (500)
  --workers N         copies of the submit worker (1)
  --faults            let the provider fail: refuse, hang, reset, answer HTML; about 1 % each
  --input FILE        send the messages of a CSV or NDJSON file instead of the shop's
  --json              print one JSON object as the last line of standard output
  --join              start nothing: enqueue into a fleet that runs already, e.g. in containers; see apps/demo/README.md
  --seed N            repeat another run's choices (1)
  --timeout SECONDS   give up after that long, and say what is still open (600)
  --help              this text

DATABASE_URL and REDIS_URL name servers of your own; on that Postgres a database of our own is made and dropped again.
`;

/** Something on the command line that cannot be meant. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError for an unknown flag or a value that is none. */
export function readOptions(args: readonly string[]): DemoOptions | 'help' {
  const { help, messages, workers, seed, timeout, input, exit, json, faults, join } = parse(args);
  if (help) return 'help';
  if (input === '') throw new UsageError('--input needs a file');
  if (join && faults) throw new UsageError('--join starts no provider, so that --faults has nobody to ask for them');
  if (input !== undefined && messages !== undefined)
    throw new UsageError('--messages and --input exclude each other: the file decides how many there are');
  return {
    messages: whole('--messages', messages, 1, 1_000_000, 500),
    workers: whole('--workers', workers, 1, 16, 1),
    seed: whole('--seed', seed, 0, 2 ** 31 - 1, 1),
    timeoutMs: whole('--timeout', timeout, 1, 86_400, 600) * 1000,
    input: input ?? null,
    exit,
    json,
    faults,
    join,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: false,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        exit: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        faults: { type: 'boolean', default: false },
        join: { type: 'boolean', default: false },
        messages: { type: 'string' },
        workers: { type: 'string' },
        seed: { type: 'string' },
        timeout: { type: 'string' },
        input: { type: 'string' },
      },
    }).values;
  } catch (error) {
    // Node's first sentence names the argument; the rest is advice for programs that take positionals.
    throw new UsageError((error as Error).message.split('. ')[0] ?? 'these arguments cannot be read');
  }
}

function whole(flag: string, text: string | undefined, from: number, to: number, preset: number): number {
  if (text === undefined) return preset;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= from && value <= to)) throw new UsageError(`${flag} takes a whole number from ${from} to ${to}`);
  return value;
}
