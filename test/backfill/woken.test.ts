import { BACKFILL_LANE } from '@sendledger/core';
import { test } from '@sendledger/local/fixtures';
import { createWaker } from '@sendledger/producer';
import { afterEach, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { urls } from '../support/house.ts';
import { until } from '../support/settled.ts';
import { runOver, statusOf, worldOf } from './world.ts';

afterEach(endAllApps);

test('a worker that polls once a minute is woken by the command that makes a run', async ({
  freshDatabase,
  redisUrl,
}) => {
  const world = await worldOf(freshDatabase, { days: 2, perDay: 1 });
  const app = startApp('backfill', {
    SMSGATEWAYCENTER_BASE_URL: world.sim.url,
    DATABASE_URL: urls(freshDatabase).backfill,
    REDIS_URL: redisUrl,
    SENDLEDGER_POLL_INTERVAL_MS: '60000',
  });
  await app.saw((line) => line.event === 'started');
  const run = await runOver(world);
  const waker = createWaker(redisUrl, 'backfill');
  // A wake-up is a hint: one that is sent before anybody is connected is lost, so that it is sent until it has got through.
  const complete = until(async () => (await statusOf(world, run)).state === 'complete');
  let done = false;
  void complete.then(() => {
    done = true;
  });
  await until(async () => {
    await waker.wake(new Set([BACKFILL_LANE]));
    return done;
  });
  await waker.close();
  app.signal('SIGTERM');
  expect(await app.ended).toBe(0);
});
