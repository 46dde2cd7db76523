import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

describe('the provider refuses a message for now, again and again', () => {
  test('its tries run out: rejected, unbilled, and a person is asked; both stand on the row and in the metrics', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const url = urls(database);
    sim.faults.forNumber(/10000001$/, 'refuse-before-accept');
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
    const submit = startApp('submit', {
      DATABASE_URL: url.submit,
      SMSGATEWAYCENTER_BASE_URL: sim.url,
      // What the refusal means is known.
      SMSGATEWAYCENTER_CODES: '9903=temporary',
      SENDLEDGER_RETRY_TRIES: '3',
      SENDLEDGER_RETRY_BASE_MS: '10',
    });
    await enqueueMany(database, 3);
    const rows = () =>
      rowsOf<{ state: string; reason: string | null; tries: number; cost: string | null }>(
        database.pool,
        'select state::text, state_reason as reason, attempt_count as tries, cost::text from sendledger.outbound_message order by recipient',
      );
    await until(async () => (await rows()).every((row) => ['submitted', 'rejected'].includes(row.state)));
    expect(await rows()).toEqual([
      { state: 'submitted', reason: null, tries: 1, cost: '0.1200' },
      { state: 'rejected', reason: 'attempts_exhausted', tries: 3, cost: null },
      { state: 'submitted', reason: null, tries: 1, cost: '0.1200' },
    ]);
    expect(sim.log.counts()).toMatchObject({ accepted: 2, refused: 3, duplicates: 0 });
    const questions = () =>
      rowsOf<{ kind: string; recipient: string }>(
        database.pool,
        `select v.kind, m.recipient from sendledger.review_item v join sendledger.outbound_message m on m.id = v.message_id`,
      );
    await until(async () => (await questions()).length > 0);
    expect(await questions()).toEqual([{ kind: 'attempts_exhausted', recipient: '919810000001' }]);

    const health = String((await submit.saw((line) => line.event === 'started')).health);
    const text = await (await fetch(`${health}/metrics`)).text();
    const series = (name: RegExp) =>
      text
        .split('\n')
        .find((line) => name.test(line))
        ?.split(' ')
        .at(-1);
    expect(series(/^sendledger_retries_total\{.*reason="refused_for_now"/)).toBe('2');
    expect(series(/^sendledger_message_attempts_sum\{.*state="rejected"/)).toBe('3');
    await sim.close();
  });
});
