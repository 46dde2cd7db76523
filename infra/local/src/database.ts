import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const OBJECT_IN_USE = '55006';
const CLONE_TRIES = 5;

/**
 * The URL of another database and/or with another role on the same server. With `role` the session starts as that role
 * (`current_user`, and what `RESET ROLE` goes back to), while the login stays the superuser's. The role travels in the
 * URL's `options`, which `pg` honours; MikroORM's `clientUrl` drops it, so give it `driverOptions.connectionString`.
 */
export function urlFor(adminUrl: string, change: { database?: string; role?: string }): string {
  const url = new URL(adminUrl);
  if (change.database !== undefined) url.pathname = `/${encodeURIComponent(change.database)}`;
  if (change.role !== undefined) {
    // In the server's option syntax a backslash guards spaces and backslashes; URLSearchParams would write spaces as
    // "+", which is not a space to every client, hence the explicit encoding.
    const setting = `-c role=${change.role.replace(/[\\ ]/g, '\\$&')}`;
    url.searchParams.delete('options');
    const others = url.search.replace(/^\?/, '');
    url.search = [others, `options=${encodeURIComponent(setting)}`].filter((part) => part !== '').join('&');
  }
  return url.toString();
}

/**
 * Creates a database, as a clone of `template` if given. Waits a little for others who use the template.
 * @throws the server's error, for example when the name is taken.
 */
export async function createDatabase(
  adminUrl: string,
  name: string,
  options: { template?: string } = {},
): Promise<void> {
  const template = options.template === undefined ? '' : ` template ${pg.escapeIdentifier(options.template)}`;
  await withClient(adminUrl, async (client) => {
    for (let attempt = 1; ; attempt++) {
      try {
        await client.query(`create database ${pg.escapeIdentifier(name)}${template}`);
        return;
      } catch (error) {
        const busy = error instanceof pg.DatabaseError && error.code === OBJECT_IN_USE;
        if (!busy || attempt === CLONE_TRIES) throw error;
        await sleep(100 * attempt);
      }
    }
  });
}

/** How long sessions may take to leave by themselves. */
const LEAVE_MS = 500;

/**
 * A pool that has ended may still be saying so to the server: ended by force just then, its client reports an error that nobody listens
 * to any more, and the process ends of it.
 */
async function untilLeft(client: pg.Client, name: string): Promise<void> {
  for (const until = Date.now() + LEAVE_MS; Date.now() < until; await sleep(10)) {
    const { rowCount } = await client.query(
      `select 1 from pg_stat_activity where datname = $1 and backend_type = 'client backend' limit 1`,
      [name],
    );
    if (rowCount === 0) return;
  }
}

/** Drops a database if it exists and ends the sessions that are still in it; a template is dropped as well. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const found = await client.query<{ is_template: boolean }>(
      'select datistemplate as is_template from pg_database where datname = $1',
      [name],
    );
    const database = found.rows[0];
    if (database === undefined) return;
    if (database.is_template) await client.query(`alter database ${pg.escapeIdentifier(name)} is_template false`);
    await untilLeft(client, name);
    await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
  });
}

/** Runs `work` on one connection of its own, closed afterwards whatever happens. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
