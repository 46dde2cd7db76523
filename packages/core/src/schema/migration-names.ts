import { readdirSync } from 'node:fs';

export const MIGRATIONS_FOLDER = new URL('./migrations/', import.meta.url);

/**
 * Names of all migrations this build knows, in order. A database is current when it has run exactly these. Apart from the
 * migrator, so that a worker that only compares names does not load an ORM.
 */
export const MIGRATION_NAMES: readonly string[] = readdirSync(MIGRATIONS_FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.slice(0, -'.sql'.length))
  .sort();
