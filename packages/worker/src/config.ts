import { hostname } from 'node:os';
import { SendledgerError } from '@sendledger/core';
import { z } from 'zod';

/** A whole number from the environment, in the unit its name ends with. */
export const whole = (from: number, to: number, preset: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(from, `must be at least ${from}`).max(to, `must be at most ${to}`))
    .default(preset);

const url = (...protocols: string[]) =>
  z.string().refine(
    (value) => {
      try {
        return protocols.includes(new URL(value).protocol);
      } catch {
        return false;
      }
    },
    { message: `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}` },
  );

/** What every worker needs. */
export const WORKER_SETTINGS = {
  /** Postgres, as the role of this app. */
  DATABASE_URL: url('postgres:', 'postgresql:'),
  /** Wake-ups. Without it the fleet polls, and is slower by the poll interval. */
  REDIS_URL: url('redis:', 'rediss:').optional(),
  /** Name of this environment. A database that belongs to another one is not sent from. */
  SENDLEDGER_ENVIRONMENT: z.string().min(1).default('development'),
  /** Stable over restarts of the same process (a pod's name): a newer boot tells that the older is gone. */
  SENDLEDGER_INSTANCE: z.string().min(1).default(`${hostname()}-${process.pid}`),
  SENDLEDGER_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** Longest pause between two looks into Postgres when no wake-up comes. */
  SENDLEDGER_POLL_INTERVAL_MS: whole(10, 60_000, 1_000),
  SENDLEDGER_DATABASE_POOL_SIZE: whole(2, 200, 8),
  /** Health, readiness and metrics; port 0 takes a free one and logs it. */
  SENDLEDGER_HEALTH_HOST: z.string().min(1).default('127.0.0.1'),
  SENDLEDGER_HEALTH_PORT: whole(0, 65_535, 0),
  /** How long a SIGTERM waits for what is in flight. */
  SENDLEDGER_SHUTDOWN_DEADLINE_MS: whole(0, 600_000, 60_000),
};

export type WorkerSettings = z.infer<z.ZodObject<typeof WORKER_SETTINGS>>;

/** It goes into a form or a header; the provider's own client encodes a password twice. */
const credential = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without blanks');

/** How far a refusal code may be mapped to reach; the gateway's set. */
const CODE_SCOPES = ['permanent', 'temporary', 'account', 'throttled'] as const;
/** What a word of a report may be mapped to mean; the gateway's set. */
const WORD_READINGS = ['open', 'delivered', 'failed'] as const;

const SCHEDULE_READINGS = ['waiting', 'cancelled', 'sent'] as const;

/**
 * A map written as `name=value,name=value`; case and extra blanks make no other name. A fault says which entry, and never
 * quotes it.
 *
 * @param noun what a name is, for the fault.
 */
const mapped = <Value extends string>(noun: string, name: RegExp, values: readonly Value[]) =>
  z
    .string()
    .transform((text, context): Readonly<Record<string, Value>> => {
      const entries: [string, Value][] = [];
      const seen = new Set<string>();
      for (const [index, entry] of text.split(',').entries()) {
        const [left = '', right, ...more] = entry.split('=').map((part) => part.trim().replace(/\s+/g, ' '));
        const value = values.find((known) => known === right);
        let fault: string | null = null;
        if (right === undefined || more.length > 0 || !name.test(left))
          fault = `must be ${noun}=meaning,${noun}=meaning; entry ${index + 1} is not`;
        else if (value === undefined) fault = `must map to ${values.join(', ')}; entry ${index + 1} does not`;
        else if (seen.has(left.toUpperCase())) fault = `must map a ${noun} once; entry ${index + 1} repeats one`;
        else entries.push([left, value]);
        if (fault !== null) {
          context.addIssue({ code: 'custom', message: fault });
          return z.NEVER;
        }
        seen.add(left.toUpperCase());
      }
      return Object.fromEntries(entries);
    })
    .default({});

/** The provider account this process sends through. */
export const SMSGATEWAYCENTER_SETTINGS = {
  SMSGATEWAYCENTER_BASE_URL: url('http:', 'https:')
    .refine(
      (value) => {
        const parsed = URL.parse(value);
        return (
          parsed === null || (parsed.username === '' && parsed.password === '' && parsed.search + parsed.hash === '')
        );
      },
      { message: 'must not carry credentials, a query or a fragment' },
    )
    .default('https://unify.smsgateway.center'),
  SMSGATEWAYCENTER_USERID: credential,
  SMSGATEWAYCENTER_PASSWORD: credential.optional(),
  SMSGATEWAYCENTER_APIKEY: credential.optional(),
  /** `on`: sends reuse connections. Faster, and a connection that the provider closes just then is an unknown more. */
  SMSGATEWAYCENTER_KEEP_ALIVE: z.enum(['on', 'off']).default('off'),
  /** Routes name this account; it is not a credential. */
  SMSGATEWAYCENTER_ACCOUNT: z.string().min(1).default('default'),
  /** The report's path: the vendor's pages print it in singular and in plural. */
  SMSGATEWAYCENTER_REPORT_PATH: z
    .string()
    .regex(/^\/[\w/.-]+$/, 'must be an absolute path')
    .default('/SMSApi/report/status'),
  /**
   * Refusal codes that nobody had mapped, once a person knows what they mean: `code=scope,code=scope`, e.g. `402=account`.
   * 200 is the code of success and cannot be mapped.
   */
  SMSGATEWAYCENTER_CODES: mapped('code', /^(?!200$)[\w-]{1,64}$/, CODE_SCOPES),
  /** Status words and causes alike: `WORD=delivered,OTHER WORD=failed`. `ErrorCode 27` is the word of a push without one. */
  SMSGATEWAYCENTER_STATUS_WORDS: mapped('word', /^\P{Cc}{1,200}$/u, WORD_READINGS),
  /** Words of the provider's list of held requests, which nobody documents: `WORD=waiting,OTHER=cancelled,THIRD=sent`. */
  SMSGATEWAYCENTER_SCHEDULE_WORDS: mapped('word', /^\P{Cc}{1,200}$/u, SCHEDULE_READINGS),
};

/** Exactly one way in is enough, and one is needed. */
export function needCredential(
  settings: { SMSGATEWAYCENTER_PASSWORD?: string | undefined; SMSGATEWAYCENTER_APIKEY?: string | undefined },
  problem: (variable: string, message: string) => void,
): void {
  if (settings.SMSGATEWAYCENTER_PASSWORD === undefined && settings.SMSGATEWAYCENTER_APIKEY === undefined)
    problem('SMSGATEWAYCENTER_PASSWORD', 'must be set, or SMSGATEWAYCENTER_APIKEY');
}

/** Reports a problem of one variable; used by checks that look at several. */
export type Problem = (variable: string, message: string) => void;

/**
 * Reads the environment once. All problems are reported together, each with its variable's name; values are never shown,
 * since one of them may be a credential. An empty variable counts as unset.
 *
 * @param check looks at several settings together; one that is not usable is undefined there, and compares as false.
 * @throws SendledgerError SENDLEDGER_CONFIG
 */
export function readSettings<Shape extends z.ZodRawShape>(
  shape: Shape,
  environment: Readonly<Record<string, string | undefined>>,
  check: (settings: z.infer<z.ZodObject<Shape>>, problem: Problem) => void = () => undefined,
): z.infer<z.ZodObject<Shape>> {
  const given = Object.fromEntries(
    Object.keys(shape)
      .map((name) => [name, environment[name]] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const problems: string[] = [];
  // Each by itself, so that a check over several still sees those that are right.
  const settings: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(shape)) {
    const parsed = z.safeParse(setting, given[name]);
    if (parsed.success) settings[name] = parsed.data;
    else
      for (const issue of parsed.error.issues)
        problems.push(`${name} ${given[name] === undefined ? 'must be set' : sentence(issue.message)}`);
  }
  const complete = settings as z.infer<z.ZodObject<Shape>>;
  check(complete, (variable, message) => problems.push(`${variable} ${message}`));
  if (problems.length > 0) throw new SendledgerError('SENDLEDGER_CONFIG', `${problems.join('; ')}.`);
  return complete;
}

/** zod starts its own messages with a capital; ours follow a variable's name. */
const sentence = (message: string) => (message.startsWith('must') ? message : `is not valid (${message})`);
