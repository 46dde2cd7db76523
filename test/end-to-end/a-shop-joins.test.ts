import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { statesOf, urls } from '../support/house.ts';

afterEach(endAllApps);

const SHOP = fileURLToPath(new URL('../../apps/demo/src/main.ts', import.meta.url));
const MESSAGES = 40;

/** The example application as the container of it starts it, and what it says at its end. */
async function shop(environment: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  const child = spawn(
    process.execPath,
    [SHOP, '--join', '--exit', '--json', '--messages', String(MESSAGES), '--timeout', '400', ...args],
    { env: { PATH, HOME, NODE_COMPILE_CACHE, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

const given = (database: TestDatabase, sim: GatewaySim) => ({
  DATABASE_URL: database.url,
  SHOP_DATABASE_URL: database.urlFor('sendledger_producer'),
  VIEWER_DATABASE_URL: database.urlFor('sendledger_ops'),
  GATEWAY_SIM_URL: sim.url,
  FLEET_SENDS_TO: sim.url,
});

describe('the example application beside a fleet that somebody else started', () => {
  test('enqueues, waits, and compares the books of what it added; and once more in the same ledger', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim({ pricePerSegment: '0.1225', failShare: 0.1 });
    const of = urls(database);
    startApp('claim', { DATABASE_URL: of.claim });
    startApp('submit', { DATABASE_URL: of.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
    startApp('reconcile', { DATABASE_URL: of.reconcile, SMSGATEWAYCENTER_BASE_URL: sim.url });

    for (const run of [1, 2]) {
      const { code, stdout, stderr } = await shop(given(database, sim));
      expect(stderr).not.toContain('BROKEN');
      expect(code).toBe(0);
      const summary = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
      expect(summary).toMatchObject({ lost: 0, duplicates: 0, open: 0, unknown: 0 });
      expect(summary.enqueued).toBeGreaterThanOrEqual(MESSAGES);
      expect(summary.billed).toBe(summary.gatewayBilled);
      // Nothing of it was stopped: it is not the run's.
      const rows = Object.values(await statesOf(database)).reduce((sum, n) => sum + (n ?? 0), 0);
      expect(rows).toBeGreaterThanOrEqual(run * MESSAGES);
    }
    await sim.close();
  });

  test('says all that it was not told, and starts nothing', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim();
    const { VIEWER_DATABASE_URL: _viewer, GATEWAY_SIM_URL: _sim, ...half } = given(database, sim);
    const { code, stderr } = await shop(half);
    expect(code).toBe(1);
    expect(stderr).toContain('VIEWER_DATABASE_URL');
    expect(stderr).toContain('GATEWAY_SIM_URL');
    expect(stderr).not.toContain('SHOP_DATABASE_URL (');
    expect((await shop(given(database, sim), ['--faults'])).stderr).toContain('--join starts no provider');
    const real = await shop({ ...given(database, sim), FLEET_SENDS_TO: 'https://provider.invalid' });
    expect([real.code, real.stderr]).toEqual([1, expect.stringContaining('FLEET_SENDS_TO is not GATEWAY_SIM_URL')]);
    expect(Object.keys(await statesOf(database))).toEqual([]);
    expect(sim.log.counts()).toMatchObject({ requests: 0 });
    await sim.close();
  });
});
