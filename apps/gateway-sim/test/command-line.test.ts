import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ConfigurationError, readConfiguration } from '../src/configuration.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

function run(args: string[], environment: Record<string, string>) {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, [main, ...args], { env: { ...env, ...environment } });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += chunk));
  child.stderr.on('data', (chunk) => (output.stderr += chunk));
  return { child, output };
}

test('prints one line when it listens, serves, and SIGTERM ends it with 0', async () => {
  const { child, output } = run(['--unquoted-ids'], { GATEWAY_SIM_PORT: '0' });
  await once(child.stdout, 'data');
  expect(output.stdout).toMatch(/^gateway-sim listening on http:\/\/127\.0\.0\.1:\d+\n$/);
  const url = /http:\S+/.exec(output.stdout)?.[0];
  expect((await fetch(`${url}/_sim/summary`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
}, 20_000);

test('names every wrong setting at once and ends with 1', async () => {
  const { child, output } = run(['--seed', 'x'], {
    GATEWAY_SIM_FAULTS: 'http-500=0.9,hold=0.9',
    GATEWAY_SIM_PRICE_PER_SEGMENT: '0.00001',
    GATEWAY_SIM_PROT: '1',
  });
  expect(await once(child, 'exit')).toEqual([1, null]);
  for (const name of ['SEED', 'FAULTS', 'PRICE_PER_SEGMENT', 'PROT'])
    expect(output.stderr).toContain(`GATEWAY_SIM_${name}`);
  expect(output.stdout).toBe('');
}, 20_000);

test('a taken port is one line and 1', async () => {
  const first = run([], { GATEWAY_SIM_PORT: '0' });
  await once(first.child.stdout, 'data');
  const port = /:(\d+)\n/.exec(first.output.stdout)?.[1] ?? '';
  const second = run(['--port', port], {});
  expect(await once(second.child, 'exit')).toEqual([1, null]);
  expect(second.output.stderr).toContain('EADDRINUSE');
  first.child.kill('SIGTERM');
  await once(first.child, 'exit');
}, 20_000);

test('flags win over the environment, switches may stand alone, spans and shares are read', () => {
  const options = readConfiguration(
    ['--faults', 'accept-then-hang=0.01,http-500=.02', '--seed=7', '--delivery-ms', '100..500', '--json-as-html=false'],
    { GATEWAY_SIM_SEED: '1', GATEWAY_SIM_UNQUOTED_IDS: 'true', GATEWAY_SIM_FAIL_SHARE: '0.5', OTHER: 'x' },
  );
  expect(options).toMatchObject({
    port: 8600,
    seed: 7,
    faults: { 'accept-then-hang': 0.01, 'http-500': 0.02 },
    deliveryMs: { min: 100, max: 500 },
    unquotedIds: true,
    jsonAsHtml: false,
    failShare: 0.5,
  });
  expect(readConfiguration(['--send-extras', '--delivery-ms', '5'], {}).deliveryMs).toEqual({ min: 5, max: 5 });
  expect(() => readConfiguration(['--nonsense'], {})).toThrow(ConfigurationError);
});

test('zone, clock, reports and pushes are read from flags and environment', () => {
  const options = readConfiguration(
    [
      '--zone',
      'UTC',
      '--clock-skew-ms=-5000',
      '--dlr-txn-ids=false',
      '--refund-cancelled',
      '--forget-deleted',
      '--push-lose',
      '.1',
    ],
    {
      GATEWAY_SIM_DLR_TIMES: 'epoch-s',
      GATEWAY_SIM_RETENTION_DAYS: '7',
      GATEWAY_SIM_PUSH_URL: 'http://127.0.0.1:1/dlr',
      GATEWAY_SIM_PUSH_FIELDS: 'legacy',
      GATEWAY_SIM_PUSH_RATE: '10',
    },
  );
  expect(options).toMatchObject({
    zone: 'UTC',
    clockSkewMs: -5000,
    dlrTxnIds: false,
    dlrTimes: 'epoch-s',
    retentionDays: 7,
    refundCancelled: true,
    forgetDeleted: true,
    pushUrl: 'http://127.0.0.1:1/dlr',
    pushFields: 'legacy',
    pushRate: 10,
    pushLose: 0.1,
  });
  const wrong = ['--zone=India', '--push-rate=0', '--push-url=ftp://x', '--push-tries=0', '--dlr-times=iso'];
  for (const flag of wrong) expect(() => readConfiguration([flag], {})).toThrow(ConfigurationError);
});
