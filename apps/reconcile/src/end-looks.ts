import { type DuePoll, durably, endPolls, expireUnconfirmed } from '@sendledger/core/ledger';
import type pg from 'pg';

/**
 * After the last look: rows whose window is over expire, and submissions without an open row are polled no more.
 *
 * @param doubtful ids of submissions whose report showed less than all of their recipients
 */
export async function endLooks(
  pool: pg.Pool,
  polls: readonly DuePoll[],
  doubtful: readonly string[] = [],
): Promise<number> {
  if (polls.length === 0) return 0;
  // Apart from what follows: the submission comes before its messages in the order of locks.
  const expired = await durably(pool, 'no receipt', (sql) =>
    expireUnconfirmed(
      sql,
      polls.map((poll) => poll.id),
      doubtful,
    ),
  );
  await durably(pool, (sql) => endPolls(sql, polls));
  return expired;
}
