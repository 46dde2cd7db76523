import { type Problem, WORKER_SETTINGS, whole } from '@sendledger/worker';
import { z } from 'zod';
import { isLoopback } from './access/loopback.ts';

/** Longest a statement of a page may take, ms: a page that needs longer has a query that is wrong. */
export const PAGE_STATEMENT_MS = 5_000;

/** Settings of the ops app. Health and metrics are served at its own address, so `SENDLEDGER_HEALTH_*` says nothing here. */
export const OPS_SETTINGS = {
  ...WORKER_SETTINGS,
  /** Where it listens. Anything but a loopback address needs credentials. */
  SENDLEDGER_OPS_HOST: z.string().min(1).default('127.0.0.1'),
  /** 0 takes a free one and logs it. */
  SENDLEDGER_OPS_PORT: whole(0, 65_535, 8_700),
  /** Name and password that every route asks for (basic authentication), but for the bare health answers. */
  SENDLEDGER_OPS_USER: z
    .string()
    .regex(/^[\x21-\x39\x3b-\x7e]+$/, 'must be printable ASCII without blanks and colons')
    .optional(),
  SENDLEDGER_OPS_PASSWORD: z
    .string()
    .regex(/^[\x21-\x7e]{12,}$/, 'must be at least 12 characters of printable ASCII without blanks')
    .optional(),
  /** Further names under which it is reached on loopback (a proxy that passes the Host header on): `ops.example.com,ops`. */
  SENDLEDGER_OPS_HOSTS: z
    .string()
    .regex(/^[A-Za-z0-9.-]+(,[A-Za-z0-9.-]+)*$/, 'must be host names, with commas between')
    .transform((text): readonly string[] => text.toLowerCase().split(','))
    .default([]),
  /** Hours back for which messages that have ended are counted. */
  SENDLEDGER_CENSUS_HOURS: whole(1, 720, 24),
  /** Shortest pause between two counts of the ledger; a count rests ten times as long as it took. */
  SENDLEDGER_CENSUS_INTERVAL_MS: whole(100, 3_600_000, 5_000),
};

/** Reachable from elsewhere it shows people's numbers to whoever asks: it is not started without credentials. */
export function checkOpsSettings(
  settings: {
    SENDLEDGER_OPS_HOST: string;
    SENDLEDGER_OPS_USER?: string | undefined;
    SENDLEDGER_OPS_PASSWORD?: string | undefined;
  },
  problem: Problem,
): void {
  const { SENDLEDGER_OPS_HOST: host, SENDLEDGER_OPS_USER: user, SENDLEDGER_OPS_PASSWORD: password } = settings;
  const missing = (['SENDLEDGER_OPS_USER', 'SENDLEDGER_OPS_PASSWORD'] as const).filter(
    (name) => settings[name] === undefined,
  );
  if (host !== undefined && !isLoopback(host))
    for (const name of missing)
      problem(name, 'must be set where SENDLEDGER_OPS_HOST is not a loopback address; or listen on 127.0.0.1');
  else if ((user === undefined) !== (password === undefined))
    for (const name of missing) problem(name, 'must be set with the other one of user and password');
}
