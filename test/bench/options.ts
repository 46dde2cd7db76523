import { parseArgs } from 'node:util';

export const BENCHES = [
  'otp-under-backlog',
  'rate',
  'redis-down',
  'enqueue',
  'life',
  'latency',
  'claim',
  'http',
  'slow-disk',
  'ops',
] as const;
export type BenchName = (typeof BENCHES)[number];

const CLAIM_PARTS = ['history', 'dead-tuples', 'tenants', 'receipts'] as const;
export type ClaimPart = (typeof CLAIM_PARTS)[number];

/** What a run is asked for. What a bench has no use for is ignored by it. */
export interface BenchOptions {
  readonly bench: BenchName;
  readonly json: boolean;
  /** Folder for the results, as JSON and as a table; null: none. */
  readonly out: string | null;
  /** Folder for profiles of our processes and the statements that took longest; null: none. */
  readonly profile: string | null;
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
  /** Of `life`: messages of one turn; of `ops`: those that are there. */
  readonly messages: number;
  /** Of `claim`: one of its parts, or all. */
  readonly part: ClaimPart | 'all';
  /** Of `claim`: messages of the past, a ledger each. */
  readonly history: readonly number[];
  /** Of `claim`: rows that were claimed while an old snapshot was held. */
  readonly dead: number;
}

export const USAGE = `npm run bench -- [name] [options]

  otp-under-backlog   one-time passwords of one tenant while another's promotional queue is drained, and without it
  rate                a route at its rate limit, four submit workers, with Redis and then without
  redis-down          messages taken in while Redis is down
  enqueue             enqueue in the caller's transaction, beside pg-boss and graphile-worker
  life                the whole life of a message without HTTP, beside a job's in pg-boss and graphile-worker
  latency             from commit to the request, idle and beside a queue, beside pg-boss's and graphile-worker's
  claim               a claim beside millions of old rows, behind dead tuples, among many tenants; a receipt beside a backlog
  http                messages a second through HTTP, the processor's time by part, and the HTTP client's share
  slow-disk           the life of a message where each commit takes a millisecond longer
  ops                 the operator's first page and look-ups, over HTTP, beside a million messages

Without a name: all of them, one after the other.

  --json              print one JSON object as the last line of standard output (without a name: { "results": [...] })
  --out DIR           write each result to DIR, as JSON and as a Markdown table, and an index.md
  --profile DIR       write CPU profiles of our processes to DIR (benches with a fleet), and where the server has
                      pg_stat_statements the statements that took longest; costs speed
  --seconds N         length of a measured phase (60; redis-down: 30 before and after the outage; latency: 40)
  --every MS          pause between two one-time passwords (1000; latency: 100)
  --backlog N         promotional rows queued first (100000); claim: rows of the tenant with the longest queue (1000000)
  --batch N           recipients in one request (1)
  --rate N            requests a second of the route (otp-under-backlog: 200, rate: 50)
  --submit N          submit workers (2; rate: 4)
  --latency MS        time the provider takes to answer, as 20 or 5..40 (5..40)
  --variant NAME      of otp-under-backlog: open, limited or both (both)
  --outage SECONDS    how long Redis is down (120)
  --intake N          messages a second during redis-down (20)
  --rounds N          turns of each contestant (enqueue: 5; latency: 2; else 3)
  --messages N        messages of one turn of life and slow-disk (20000); of http with one recipient in a request (5000),
                      ten times as many with 500; of ops the messages that are there (1000000)
  --part NAME         of claim: history, dead-tuples, tenants, receipts or all (all)
  --history N,N,...   of claim: delivered messages in the ledger, one ledger each (100000,1000000,5000000)
  --dead N            of claim: rows that were claimed while an old snapshot was held (500000)

Ends with 1 where a bar is missed, and with 2 where it could not be measured.
`;

const SECONDS: Partial<Record<BenchName, number>> = { 'redis-down': 30, latency: 40 };
const MESSAGES: Partial<Record<BenchName, number>> = { http: 5_000, ops: 1_000_000 };
const ROUNDS: Partial<Record<BenchName, number>> = { enqueue: 5, latency: 2 };

/** Something on the command line that cannot be meant. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError for an unknown name or flag, or a value that is none. */
export function readOptions(args: readonly string[]): readonly BenchOptions[] | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const [named] = positionals;
  const bench = BENCHES.find((name) => name === named);
  if ((named !== undefined && bench === undefined) || positionals.length > 1)
    throw new UsageError(`name one of ${BENCHES.join(', ')}, or none for all`);
  return (bench === undefined ? BENCHES : [bench]).map((one) => optionsOf(one, values));
}

function optionsOf(bench: BenchName, values: ReturnType<typeof parse>['values']): BenchOptions {
  const variant = (['open', 'limited', 'both'] as const).find((name) => name === (values.variant ?? 'both'));
  if (variant === undefined) throw new UsageError('--variant takes open, limited or both');
  const part = ([...CLAIM_PARTS, 'all'] as const).find((name) => name === (values.part ?? 'all'));
  if (part === undefined) throw new UsageError(`--part takes ${CLAIM_PARTS.join(', ')} or all`);
  const latencyMs = values.latency ?? '5..40';
  if (!/^\d+(\.\.\d+)?$/.test(latencyMs)) throw new UsageError('--latency takes milliseconds, as 20 or 5..40');
  return {
    bench,
    json: values.json,
    out: values.out ?? null,
    profile: values.profile ?? null,
    seconds: whole('--seconds', values.seconds, SECONDS[bench] ?? 60),
    everyMs: whole('--every', values.every, bench === 'latency' ? 100 : 1_000),
    backlog: whole('--backlog', values.backlog, bench === 'claim' ? 1_000_000 : 100_000),
    batch: whole('--batch', values.batch, 1),
    rate: whole('--rate', values.rate, bench === 'rate' ? 50 : 200),
    submitWorkers: whole('--submit', values.submit, bench === 'rate' ? 4 : 2),
    latencyMs,
    variant,
    outageSeconds: whole('--outage', values.outage, 120),
    intakePerSecond: whole('--intake', values.intake, 20),
    rounds: whole('--rounds', values.rounds, ROUNDS[bench] ?? 3),
    messages: whole('--messages', values.messages, MESSAGES[bench] ?? 20_000),
    part,
    history: (values.history ?? '100000,1000000,5000000').split(',').map((text) => whole('--history', text, 0)),
    dead: whole('--dead', values.dead, 500_000),
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
        out: text,
        profile: text,
        part: text,
        history: text,
        dead: text,
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
