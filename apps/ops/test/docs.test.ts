import { readFileSync } from 'node:fs';
import { Registry, WORKER_SETTINGS } from '@sendledger/worker';
import { expect, test } from 'vitest';
import { LedgerMetrics } from '../src/metrics.ts';
import { OPS_SETTINGS } from '../src/settings.ts';

const PAGE = readFileSync(new URL('../../../docs/ops.md', import.meta.url), 'utf8');
const said = (pattern: RegExp) => [...new Set([...PAGE.matchAll(pattern)].map((match) => match[1] ?? ''))].sort();

test('docs/ops.md names every setting of ops, and none that there is not', () => {
  const own = Object.keys(OPS_SETTINGS).filter((name) => !(name in WORKER_SETTINGS));
  expect(said(/^\| `(SENDLEDGER_\w+)`/gm)).toEqual(own.sort());
});

test('docs/ops.md names every metric of the ledger with its labels, and none that there is not', async () => {
  const registry = new Registry();
  new LedgerMetrics(registry);
  const metrics = (await registry.getMetricsAsArray()) as unknown as { name: string; labelNames: string[] }[];
  const own = metrics.map(({ name, labelNames }) =>
    labelNames.length === 0 ? name : `${name}{${labelNames.join(',')}}`,
  );
  const table = said(/`(sendledger_\w+(?:\{[\w,]+\})?)`/g);
  // In the text above the table a metric stands without its labels.
  expect(table.filter((name) => !own.includes(name))).toEqual([]);
  expect(own.filter((name) => !table.includes(name))).toEqual([]);
});
