import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { applyOutcomes } from '../../src/ledger/apply-outcome.ts';
import { durably, knownAccepted } from '../../src/ledger/index.ts';
import { marked, outcomeOf } from './on-the-way.ts';
import { type Scene, scene } from './scene.ts';

const HOUR = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR);

/** An account of its own, whose provider holds what it is given five minutes before its time. */
async function account(pool: pg.Pool, name: string): Promise<Scene> {
  const s = await scene(pool);
  await pool.query(`update sendledger.route set schedule_lead = '5 minutes', account = $2 where id = $1`, [
    s.routeId,
    name,
  ]);
  return s;
}

async function accept(pool: pg.Pool, s: Scene, recipient: string, more: Readonly<Record<string, unknown>> = {}) {
  const submissions = await marked(pool, s, [{ recipient, more }]);
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      submissions.map((one) => outcomeOf(one, 'accepted')),
    ),
  );
}

const known = async (pool: pg.Pool, name: string) =>
  (await knownAccepted(pool, { provider: 'smsgatewaycenter', account: name }, inHours(-1), inHours(1))).map(
    (row) => row.recipient,
  );

describe('what the report of a day must show before anything is absent from it', () => {
  test('is what was accepted in that time', async ({ database: { pool } }) => {
    const s = await account(pool, 'shown');
    await accept(pool, s, '919000000001');
    expect(await known(pool, 'shown')).toEqual(['919000000001']);
  });

  test.for([
    ['a provider holds', null],
    ['a provider held until it was cancelled', `state = 'failed', state_reason = 'cancelled_at_provider'`],
    ['a provider held until its time', `state = 'delivered'`],
  ] as const)(
    'is nothing that %s: the day of its acceptance never shows it',
    async ([what, end], { database: { pool } }) => {
      const name = what.replaceAll(' ', '-');
      const s = await account(pool, name);
      await accept(pool, s, '919000000001');
      await accept(pool, s, '919000000002', { scheduled_for: inHours(3).toISOString(), held_by: 'provider' });
      if (end !== null)
        await pool.query(
          `update sendledger.outbound_message set ${end} where route_id = $1 and held_by = 'provider' and state = 'submitted'`,
          [s.routeId],
        );
      expect(await known(pool, name)).toEqual(['919000000001']);
    },
  );
});
