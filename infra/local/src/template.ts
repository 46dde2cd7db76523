import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createDatabase, dropDatabase, urlFor, withClient } from './database.ts';
import { LocalServiceError } from './errors.ts';

const LEAVE_TIMEOUT_MS = 3_000;

/**
 * Creates a database, lets `migrate` fill it, and closes it to connections, so that it can be cloned at any time (an
 * open connection to a template blocks every clone).
 * @throws LocalServiceError when `migrate` leaves a connection open; whatever `migrate` throws. The database is dropped.
 */
export async function createTemplate(
  adminUrl: string,
  name: string,
  migrate: (url: string) => Promise<void>,
): Promise<void> {
  await createDatabase(adminUrl, name);
  try {
    await migrate(urlFor(adminUrl, { database: name }));
    await withClient(adminUrl, async (client) => {
      await client.query(`alter database ${pg.escapeIdentifier(name)} is_template true allow_connections false`);
      await untilEmpty(client, name);
    });
  } catch (error) {
    await dropDatabase(adminUrl, name);
    throw error;
  }
}

/** Drops a template and every clone of it that a killed test left behind. */
export async function dropTemplate(adminUrl: string, name: string): Promise<void> {
  const left = await withClient(adminUrl, (client) =>
    client.query<{ datname: string }>(`select datname from pg_database where starts_with(datname, $1 || '_')`, [name]),
  );
  for (const { datname } of left.rows) await dropDatabase(adminUrl, datname);
  await dropDatabase(adminUrl, name);
}

async function untilEmpty(client: pg.Client, name: string): Promise<void> {
  const until = Date.now() + LEAVE_TIMEOUT_MS;
  for (;;) {
    // Background workers (autovacuum) are sent away by the server itself when a clone is made.
    const sessions = await client.query<{ application_name: string; query: string }>(
      `select application_name, left(query, 80) as query from pg_stat_activity
        where datname = $1 and backend_type = 'client backend'`,
      [name],
    );
    const first = sessions.rows[0];
    if (first === undefined) return;
    if (Date.now() > until) {
      throw new LocalServiceError(
        'postgres',
        `the migration left ${sessions.rows.length} connection(s) open, which block every clone; last statement: ${first.query}`,
      );
    }
    await sleep(25);
  }
}
