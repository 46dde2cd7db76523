import type { Fleet } from './fleet.ts';
import type { Services } from './services.ts';

/** Where everything is, for whoever wants to look. */
export function whereabouts(services: Services, fleet: Fleet): string[] {
  return [
    `Postgres      ${shown(services)} (${services.postgres})`,
    services.redisUrl === null
      ? 'Redis         none found: the workers poll, which is slower and loses nothing'
      : `Redis         ${withoutPassword(services.redisUrl)} (${services.redis})`,
    `gateway-sim   ${fleet.simulator.url}  books: ${fleet.simulator.url}/_sim/summary`,
    ...fleet.workers.map(
      (worker) => `${worker.name.padEnd(13)} pid ${worker.pid}  ${worker.url}/readyz  ${worker.url}/metrics`,
    ),
    `logs          ${fleet.logFolder}`,
    '',
  ];
}

/** A server of ours is gone in a minute, and its password opens psql; a given server's is the user's secret. */
function shown(services: Services): string {
  return services.givenServer ? withoutPassword(services.databaseUrl) : services.databaseUrl;
}

function withoutPassword(text: string): string {
  const url = new URL(text);
  if (url.password !== '') url.password = '***';
  if (url.searchParams.has('password')) url.searchParams.set('password', '***');
  return url.toString();
}
