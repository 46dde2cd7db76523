import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { LocalServiceError, reasonOf } from './errors.ts';
import { startPostgresContainer } from './postgres-container.ts';

/** A Postgres to work with: given by the environment, or started here. */
export interface LocalPostgres {
  /** Superuser, database `postgres`; or `DATABASE_URL` as it was given. */
  readonly url: string;
  readonly source: 'environment' | 'embedded' | 'docker';
  /** Null unless embedded. */
  readonly dataDir: string | null;
  /** The folder with `pg_ctl`, null unless embedded. */
  readonly binDir: string | null;
  readonly pid?: number;
  /** Ends what was started here and removes its data; leaves a given server alone. May be called twice. */
  stop(): Promise<void>;
}

/** How to start Postgres. */
export interface PostgresOptions {
  /** Server settings by name for a server that is started here; a given server keeps its own. */
  settings?: Record<string, string>;
  /** Insist on a private embedded server, even where `DATABASE_URL` is set. */
  only?: 'embedded';
  /** With `only`: the bin folder of another Postgres than the one that was brought along. */
  binDir?: string;
  /** Where an embedded server keeps its data; default: the folder for temporary files. */
  folder?: string;
}

export type { EmbeddedPostgres };

/**
 * Finds or starts Postgres: `DATABASE_URL` if set, else the embedded server, else Docker (`postgres:18`). What is
 * started ends with this process, however that ends.
 * @throws LocalServiceError naming what was tried when none of the three is to be had.
 */
export function startPostgres(options: PostgresOptions & { only: 'embedded' }): Promise<EmbeddedPostgres>;
export function startPostgres(options?: PostgresOptions): Promise<LocalPostgres>;
export async function startPostgres(options: PostgresOptions = {}): Promise<LocalPostgres> {
  if (options.only === 'embedded') return startEmbeddedPostgres(options.settings, options.binDir, options.folder);
  const given = process.env.DATABASE_URL;
  if (given !== undefined && given !== '') {
    return { url: given, source: 'environment', dataDir: null, binDir: null, stop: async () => undefined };
  }
  const tried: string[] = [];
  const starts = [
    () => startEmbeddedPostgres(options.settings, undefined, options.folder),
    () => startPostgresContainer(options.settings),
  ];
  for (const start of starts) {
    try {
      return await start();
    } catch (error) {
      tried.push(reasonOf(error));
    }
  }
  throw new LocalServiceError(
    'postgres',
    `no Postgres: set DATABASE_URL to a superuser's URL, or mend one of these: embedded: ${tried[0]}; Docker: ${tried[1]}`,
  );
}
