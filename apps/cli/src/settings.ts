import { SendledgerError } from '@sendledger/core';
import { z } from 'zod';

const url = (protocols: readonly string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  });

const SETTINGS = z.object({
  /** Postgres; the role in it decides what the commands may do. */
  DATABASE_URL: url(['postgres:', 'postgresql:']),
  /** Wake-ups after an enqueue. Without it the workers find the rows by their own poll. */
  REDIS_URL: url(['redis:', 'rediss:']).optional(),
  /** Name of this environment, as the workers have it. */
  SENDLEDGER_ENVIRONMENT: z.string().min(1).default('development'),
});

export interface Settings {
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly environment: string;
}

/**
 * Reads the environment; an empty variable counts as unset. All faults are reported together, by name and without values,
 * since a URL holds a password.
 *
 * @throws SendledgerError SENDLEDGER_CONFIG
 */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  const given = Object.fromEntries(
    Object.keys(SETTINGS.shape)
      .map((name) => [name, environment[name]] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = SETTINGS.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => {
      const name = String(path[0]);
      return `${name} ${given[name] === undefined ? 'must be set, e.g. postgres://user@localhost:5432/sendledger' : message}`;
    });
    throw new SendledgerError('SENDLEDGER_CONFIG', `${faults.join('; ')}.`);
  }
  return {
    databaseUrl: parsed.data.DATABASE_URL,
    redisUrl: parsed.data.REDIS_URL ?? null,
    environment: parsed.data.SENDLEDGER_ENVIRONMENT,
  };
}
