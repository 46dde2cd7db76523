import { randomBytes } from 'node:crypto';
import { furnish } from './house.ts';
import type { Interrupt } from './interrupt.ts';
import { type DemoOptions, UsageError } from './options.ts';
import { play } from './play.ts';

/** What a run that joins a fleet has to be told, and what each is. */
const NEEDED = {
  DATABASE_URL: 'the migrated database, as somebody who may furnish it',
  SHOP_DATABASE_URL: 'the same as sendledger_producer',
  VIEWER_DATABASE_URL: 'the same as sendledger_ops',
  GATEWAY_SIM_URL: 'the simulated provider',
  FLEET_SENDS_TO: 'where its submit workers send to, which must be that provider',
} as const;

/**
 * Runs the example application beside a fleet that somebody else started, e.g. in containers, and answers the exit code. Starts
 * nothing and stops nothing. The verdict is about what this run added; it holds where nobody else sends meanwhile.
 * @throws UsageError naming each variable that is missing.
 */
export function joinFleet(options: DemoOptions, interrupt: Interrupt): Promise<number> {
  const given = readGiven();
  return play(options, interrupt, async (screen) => {
    screen.say('joining the fleet: route, price, tenant and templates of the shop');
    await furnish(given.DATABASE_URL, options.workers);
    return {
      viewerUrl: given.VIEWER_DATABASE_URL,
      shopUrl: given.SHOP_DATABASE_URL,
      redisUrl: process.env.REDIS_URL ?? null,
      simulatorUrl: given.GATEWAY_SIM_URL.replace(/\/+$/, ''),
      whereabouts: [
        `gateway-sim   ${given.GATEWAY_SIM_URL}`,
        ...(process.env.DASHBOARD_URL ? [`dashboard     ${process.env.DASHBOARD_URL}`] : []),
      ],
      run: `${randomBytes(3).toString('hex')}-`,
      broken: new Promise(() => undefined),
      lastOrders: async () => [],
    };
  });
}

function readGiven(): Readonly<Record<keyof typeof NEEDED, string>> {
  const missing = Object.entries(NEEDED).filter(([name]) => !process.env[name]);
  if (missing.length > 0)
    throw new UsageError(`--join needs ${missing.map(([name, what]) => `${name} (${what})`).join(', ')}`);
  // The numbers of the shop are made up, and some of them are somebody's.
  if (process.env.FLEET_SENDS_TO !== process.env.GATEWAY_SIM_URL)
    throw new UsageError(
      '--join enqueues for a simulated provider alone: FLEET_SENDS_TO is not GATEWAY_SIM_URL. Leave SMSGATEWAYCENTER_BASE_URL unset for the demo',
    );
  return Object.fromEntries(Object.keys(NEEDED).map((name) => [name, process.env[name]])) as Record<
    keyof typeof NEEDED,
    string
  >;
}
