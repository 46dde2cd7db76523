import { parseArgs } from 'node:util';

export const BENCHES = ['otp-under-backlog', 'rate', 'redis-down', 'enqueue', 'life'] as const;
export type BenchName = (typeof BENCHES)[number];

/** What a run is asked for. What a bench has no use for is ignored by it. */
export interface BenchOptions {
  readonly bench: BenchName;
  readonly json: boolean;
  /** Length of a measured phase. */
  readonly seconds: number;
  /** Pause between two one-time passwords. */
  readonly everyMs: number;
  /** Promotional rows queued before the loaded phase. */
  readonly backlog: number;
  /** Recipients in one request; 1: every message is a request of its own. */
  readonly batch: number;
  /** Requests a second of the route, where it has a limit. */
  readonly rate: number;
  readonly submitWorkers: number;
  /** How long the simulated provider takes to answer. */
  readonly latencyMs: string;
  /** Of `otp-under-backlog`: without a limit of the route, with one, or both after each other. */
  readonly variant: 'open' | 'limited' | 'both';
  /** Of `redis-down`. */
  readonly outageSeconds: number;
  readonly intakePerSecond: number;
  /** Of `enqueue` and `life`: how often everybody has a turn. */
  readonly rounds: number;
  /** Of `life`: messages of one turn. */
  readonly messages: number;
}

export const USAGE = `npm run bench -- <name> [options]

  otp-under-backlog   one-time passwords of one tenant while another's promotional queue is drained, and without it
  rate                a route at its rate limit, four submit workers, with Redis and then without
  redis-down          messages taken in while Redis is down
  enqueue             enqueue in the caller's transaction, beside pg-boss and graphile-worker
  life                the whole life of a message without HTTP, beside a job's in pg-boss and graphile-worker

  --json              print one JSON object as the last line of standard output
  --seconds N         length of a measured phase (60; redis-down: 30 before and after the outage)
  --every MS          pause between two one-time passwords (1000)
  --backlog N         promotional rows queued first (100000)
  --batch N           recipients in one request (1)
  --rate N            requests a second of the route (otp-under-backlog: 200, rate: 50)
  --submit N          submit workers (2; rate: 4)
  --latency MS        time the provider takes to answer, as 20 or 5..40 (5..40)
  --variant NAME      open, limited or both (both)
  --outage SECONDS    how long Redis is down (120)
  --intake N          messages a second during redis-down (20)
  --rounds N          turns of each contestant in enqueue and life (5; life: 3)
  --messages N        messages of one turn of life (20000)

Ends with 1 where a bar is missed, and with 2 where it could not be measured.
`;

/** Something on the command line that cannot be meant. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError for an unknown name or flag, or a value that is none. */
export function readOptions(args: readonly string[]): BenchOptions | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const bench = BENCHES.find((name) => name === positionals[0]);
  if (bench === undefined || positionals.length !== 1) throw new UsageError(`name one of ${BENCHES.join(', ')}`);
  const variant = (['open', 'limited', 'both'] as const).find((name) => name === (values.variant ?? 'both'));
  if (variant === undefined) throw new UsageError('--variant takes open, limited or both');
  const latencyMs = values.latency ?? '5..40';
  if (!/^\d+(\.\.\d+)?$/.test(latencyMs)) throw new UsageError('--latency takes milliseconds, as 20 or 5..40');
  return {
    bench,
    json: values.json,
    seconds: whole('--seconds', values.seconds, bench === 'redis-down' ? 30 : 60),
    everyMs: whole('--every', values.every, 1_000),
    backlog: whole('--backlog', values.backlog, 100_000),
    batch: whole('--batch', values.batch, 1),
    rate: whole('--rate', values.rate, bench === 'rate' ? 50 : 200),
    submitWorkers: whole('--submit', values.submit, bench === 'rate' ? 4 : 2),
    latencyMs,
    variant,
    outageSeconds: whole('--outage', values.outage, 120),
    intakePerSecond: whole('--intake', values.intake, 20),
    rounds: whole('--rounds', values.rounds, bench === 'life' ? 3 : 5),
    messages: whole('--messages', values.messages, 20_000),
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: true,
      options: {
        help: { ...flag, short: 'h' },
        json: flag,
        seconds: text,
        every: text,
        backlog: text,
        batch: text,
        rate: text,
        submit: text,
        latency: text,
        variant: text,
        outage: text,
        intake: text,
        rounds: text,
        messages: text,
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0] ?? 'these arguments cannot be read');
  }
}

function whole(flag: string, text: string | undefined, preset: number): number {
  if (text === undefined) return preset;
  const value = /^\d{1,8}$/.test(text) ? Number(text) : 0;
  if (value < 1) throw new UsageError(`${flag} takes a whole number from 1 on`);
  return value;
}
