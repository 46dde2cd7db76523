import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { accepted, aRoute, passTime, polledOf } from './accepted-submission.ts';
import { NOTHING_YET, recordedReads } from './recorded-reads.ts';
import { readerOf } from './report-reader.ts';

describe('a request that was accepted without an id', () => {
  test('is looked for by its number, and its row expires when receipt_by is over and not before', async ({
    freshDatabase: { pool },
  }) => {
    const route = await aRoute(pool, 'default');
    await accepted(pool, route, 1, () => null);
    const adapter = recordedReads(() => NOTHING_YET);
    const reader = await readerOf(pool, adapter);

    for (const polls of [1, 2]) {
      expect(await reader.round()).toBe('some');
      // Looked at, still waiting, and due again after its pause.
      expect(await polledOf(pool, route)).toMatchObject([{ polls, due: false, state: 'submitted' }]);
      await passTime(pool, route, 'still open');
    }
    await passTime(pool, route, 'over');
    expect(await reader.round()).toBe('some');
    // The cost stays: it was charged when the provider accepted.
    expect(await polledOf(pool, route)).toMatchObject([{ polls: 3, due: null, state: 'expired', cost: '0.1225' }]);
    expect(new Set(adapter.asked)).toEqual(new Set(['days 919010000000']));
    expect(await reader.round()).toBe('none');
  });

  test('beside others that are read: each is ended by its own look', async ({ freshDatabase: { pool } }) => {
    const route = await aRoute(pool, 'default');
    // The second has an id, and its report is not to be had: without that look its window is not over.
    const txns = ['read', 'away', null] as const;
    await accepted(pool, route, 3, (i) => txns[i] ?? null);
    const adapter = recordedReads((txn) =>
      txn === 'away' ? { kind: 'unavailable', detail: 'no connection' } : NOTHING_YET,
    );
    const reader = await readerOf(pool, adapter);
    await passTime(pool, route, 'over');
    await reader.round();
    expect(await polledOf(pool, route)).toMatchObject([
      { state: 'expired', due: null },
      { state: 'submitted', due: false },
      { state: 'expired', due: null },
    ]);
    expect(adapter.asked.filter((asked) => !asked.startsWith('days')).toSorted()).toEqual(['away', 'read']);
  });
});

test('a report that shows less than all recipients expires nobody for a day: it may come in pages', async ({
  freshDatabase: { pool },
}) => {
  const route = await aRoute(pool, 'default');
  await accepted(pool, route, 1, () => 'short');
  const reader = await readerOf(
    pool,
    recordedReads(() => NOTHING_YET),
  );
  await passTime(pool, route, 'just over');
  await reader.round();
  expect(await polledOf(pool, route)).toMatchObject([{ state: 'submitted', due: false }]);
  await passTime(pool, route, 'over');
  await reader.round();
  expect(await polledOf(pool, route)).toMatchObject([{ state: 'expired', due: null }]);
});
