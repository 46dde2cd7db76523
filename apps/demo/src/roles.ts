import { randomBytes } from 'node:crypto';
import { urlFor } from '@sendledger/local';
import pg from 'pg';
import type { Services } from './services.ts';

/** Who takes part, each under a role of its own: the shop may enqueue and read no message; the viewer may read and no more. */
const ROLES = {
  claim: 'sendledger_claim',
  submit: 'sendledger_submit',
  reconcile: 'sendledger_reconcile',
  shop: 'sendledger_producer',
  viewer: 'sendledger_ops',
} as const;

export type RoleUrls = Readonly<Record<keyof typeof ROLES, string>>;

/**
 * URLs to log in with. On a server of ours each role gets a random password. Roles belong to a cluster, so on a given server no
 * password is touched: the session of the given login starts as the role instead.
 */
export async function roleUrls(services: Services): Promise<RoleUrls> {
  const client = new pg.Client({ connectionString: services.databaseUrl });
  await client.connect();
  try {
    const urls: Record<string, string> = {};
    for (const [who, role] of Object.entries(ROLES)) urls[who] = await urlOf(client, services, role);
    return urls as RoleUrls;
  } finally {
    await client.end();
  }
}

async function urlOf(client: pg.Client, services: Services, role: string): Promise<string> {
  if (services.givenServer) {
    await letLoginBecome(client, role);
    return urlFor(services.databaseUrl, { role });
  }
  const password = randomBytes(18).toString('hex');
  await client.query(`alter role ${role} password '${password}'`);
  const url = new URL(services.databaseUrl);
  url.username = role;
  url.password = password;
  return url.toString();
}

/**
 * A login that is no superuser must be allowed to become the role. Since Postgres 16 whoever creates a role administers it and
 * may yet not become it, so the login grants it to itself.
 */
async function letLoginBecome(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ may: boolean }>(
    `select pg_has_role(current_user, $1,
       case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end) as may`,
    [role],
  );
  if (rows[0]?.may !== true) await client.query(`grant ${role} to current_user`);
}
