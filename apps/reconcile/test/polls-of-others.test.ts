import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { accepted, aRoute, passTime, polledOf } from './accepted-submission.ts';
import { delivered, recordedReads } from './recorded-reads.ts';
import { readerOf } from './report-reader.ts';

describe('a process without the account of a route', () => {
  for (const [what, account, provider] of [
    ['another account', 'other', 'smsgatewaycenter'],
    ['an account of that name at another provider', 'default', 'another'],
  ] as const)
    test(`${what}: it leaves the polls alone, however many are due before its own`, async ({
      freshDatabase: { pool },
    }) => {
      const theirs = await aRoute(pool, account, provider);
      const ours = await aRoute(pool, 'default');
      // More than a round takes, and due for longer.
      await accepted(pool, theirs, 30, (i) => `theirs-${i}`);
      await pool.query(`update sendledger.submission set poll_at = now() - interval '1 hour'`);
      const [mine] = await accepted(pool, ours, 1, () => 'ours');
      const before = await polledOf(pool, theirs);

      const adapter = recordedReads((txn) => delivered(txn, mine?.recipient ?? ''));
      const reader = await readerOf(pool, adapter);
      expect(await reader.round()).toBe('some');
      expect(adapter.asked).toEqual(['ours']);
      expect(await polledOf(pool, ours)).toMatchObject([{ state: 'delivered', due: null }]);
      // Still due, and as soon as before: the process that has the account loses no interval.
      expect(await polledOf(pool, theirs)).toEqual(before);
      expect(before.every((poll) => poll.due === true && poll.polls === 0)).toBe(true);
      expect(await reader.round()).toBe('none');
    });

  test('does not end their waiting either', async ({ freshDatabase: { pool } }) => {
    const theirs = await aRoute(pool, 'other');
    await accepted(pool, theirs, 2, (i) => (i === 0 ? 'theirs' : null));
    await passTime(pool, theirs, 'over');
    const adapter = recordedReads((txn) => delivered(txn, ''));
    const reader = await readerOf(pool, adapter);
    expect(await reader.round()).toBe('none');
    expect(await polledOf(pool, theirs)).toMatchObject([{ state: 'submitted' }, { state: 'submitted' }]);
  });
});
