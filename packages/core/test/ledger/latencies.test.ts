import { test } from '@sendledger/local/fixtures';
import { expect } from 'vitest';
import { latencies } from '../../src/ledger/index.ts';
import { importMessage, importSubmission } from '../schema/rows.ts';
import { scene } from './scene.ts';

const MINUTE_MS = 60_000;

/** Rows of a state, accepted at once and, where they were, delivered a minute after. */
test('the time to delivery is that of what was delivered: whatever else became of the others, it is none', async ({
  freshDatabase: { pool },
}) => {
  const s = await scene(pool);
  const at = new Date(Math.floor(Date.now() / 1_000) * 1_000);
  const some = async (state: 'submitted' | 'failed' | 'expired' | 'delivered', from: number) => {
    for (let i = from; i < from + 3; i++) {
      const submission = await importSubmission(pool, 'accepted', s.routeId);
      await importMessage(pool, state, s.routeId, submission, {
        recipient: `91980000000${i}`,
        requested_at: at,
        submitted_at: at,
        ...(state === 'delivered' ? { delivered_at: new Date(at.getTime() + MINUTE_MS) } : {}),
      });
    }
  };
  await some('submitted', 0);
  await some('failed', 3);
  expect((await latencies(pool)).map(({ delivery }) => delivery)).toEqual([null]);
  await some('delivered', 6);
  const [cell] = await latencies(pool);
  // Later than a minute by as long as the rows took to be written after it.
  expect(cell?.delivery?.p50).toBe(60);
  expect(cell?.delivery?.p95).toBe(60);
  expect(cell?.submit).not.toBeNull();
});
