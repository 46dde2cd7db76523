import { claim, registerWorker, rowsOf, sweepMarkedLeases } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const IN_FLIGHT = 8;

test('an outcome that cannot be written, nor reviewed, ends neither the process nor the others (FC-11)', async ({
  freshDatabase: database,
}) => {
  const { pool } = database;
  const sim = await startGatewaySim();
  const routeId = await furnish(database);
  const worker = await registerWorker(pool, 'test', 'claims-by-hand');
  const claimAll = () =>
    claim(pool, { routeId, messageClass: 'transactional', limit: 100, leaseMs: 600_000, workerId: worker.id });
  await enqueueMany(database, IN_FLIGHT);
  await claimAll();

  // Two of them: the first outcome of a lane is written alone, and the others together.
  const bad = (
    await rowsOf<{ id: string }>(pool, 'select id from sendledger.submission order by id offset 3 limit 2')
  ).map((s) => s.id);
  await pool.query(`create function raise_23514() returns trigger language plpgsql as $$
    begin raise exception using errcode = '23514', message = 'no'; end $$`);
  await pool.query(
    `create trigger refused before update on sendledger.submission for each row
       when (new.id in (${bad.join(', ')}) and old.state = 'marked') execute function raise_23514()`,
  );
  await pool.query(
    'create trigger refused before insert on sendledger.review_item for each row execute function raise_23514()',
  );

  sim.faults.next('hold', IN_FLIGHT);
  const submit = startApp('submit', {
    // Long enough for every request of the burst on a busy machine; what cannot be written waits for its end.
    SENDLEDGER_REQUEST_DEADLINE_MS: '10000',
    SENDLEDGER_REQUEST_LEASE_MS: '11000',
    SENDLEDGER_SEND_BUDGET_MS: '5000',
    DATABASE_URL: urls(database).submit,
    SMSGATEWAYCENTER_BASE_URL: sim.url,
    // All of them at once, beside the places that codes have to themselves.
    SENDLEDGER_SUBMIT_CONCURRENCY: String(IN_FLIGHT * 2),
  });
  await sim.faults.untilHeld(IN_FLIGHT);
  sim.faults.release();
  for (const id of bad)
    for (const event of ['outcome_not_writable', 'review_not_opened'])
      await submit.saw((line) => line.event === event && line.submission === id);
  await until(async () => (await statesOf(database)).submitted === IN_FLIGHT - bad.length);

  // Its connections are free again, and what comes after is sent.
  await enqueueMany(database, 20, { from: 1_000 });
  await claimAll();
  await until(async () => (await statesOf(database)).submitted === IN_FLIGHT - bad.length + 20);
  expect(await statesOf(database)).toEqual({ submitted: 26, claimed: bad.length });
  submit.signal('SIGTERM');
  expect(await submit.ended).toBe(0);
  expect(submit.stderr).toBe('');

  // What could not be written is unknown when its lease is over, and is never sent again.
  await pool.query('drop trigger refused on sendledger.submission');
  await until(async () => {
    await sweepMarkedLeases(pool, 10);
    return (await statesOf(database)).unknown === bad.length;
  });
  expect(sim.log.counts()).toMatchObject({ accepted: IN_FLIGHT + 20, duplicates: 0 });
  await sim.close();
});
