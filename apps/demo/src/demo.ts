import { startFleet } from './fleet.ts';
import { ENVIRONMENT, furnish } from './house.ts';
import type { Interrupt } from './interrupt.ts';
import type { DemoOptions } from './options.ts';
import { play } from './play.ts';
import { roleUrls } from './roles.ts';
import { startServices } from './services.ts';
import { whereabouts } from './whereabouts.ts';

/** Runs the demo on servers, workers and a provider of its own, and answers the exit code. */
export function runDemo(options: DemoOptions, interrupt: Interrupt): Promise<number> {
  return play(options, interrupt, async (screen, cleanup, unlessStopped) => {
    screen.say('starting Postgres and Redis');
    const services = await startServices(cleanup);
    unlessStopped();
    screen.say('migrating, and starting the simulated provider and the workers');
    // Loaded here: a run that joins a fleet needs no migrator.
    const { migrate } = await import('@sendledger/core/schema');
    await migrate(services.databaseUrl, ENVIRONMENT);
    await furnish(services.databaseUrl, options.workers);
    const urls = await roleUrls(services);
    unlessStopped();
    const fleet = await startFleet(
      { urls, redisUrl: services.redisUrl, submitWorkers: options.workers, faults: options.faults, seed: options.seed },
      cleanup,
    );
    return {
      viewerUrl: urls.viewer,
      shopUrl: urls.shop,
      redisUrl: services.redisUrl,
      simulatorUrl: fleet.simulator.url,
      whereabouts: whereabouts(services, fleet),
      run: '',
      broken: fleet.broken,
      // Before the books are compared nobody may still write in them.
      lastOrders: () => fleet.stopWorkers(),
    };
  });
}
