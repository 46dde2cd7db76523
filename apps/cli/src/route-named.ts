import { listRoutes, type Sql } from '@sendledger/core/ledger';
import { CliFailure } from './failure.ts';

/** The id of a route that is in use. @throws CliFailure that names those there are. */
export async function routeNamed(sql: Sql, name: string): Promise<string> {
  const routes = await listRoutes(sql);
  const found = routes.find((route) => route.name === name);
  if (found !== undefined) return found.id;
  const known = routes.length === 0 ? 'There is none yet.' : `There are: ${routes.map((r) => r.name).join(', ')}.`;
  throw new CliFailure(`There is no route ${name}. ${known}`);
}
