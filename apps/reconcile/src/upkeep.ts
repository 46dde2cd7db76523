import { durably, ensureMonths, followZoneRules, strayRows } from '@sendledger/core/ledger';
import type { AppContext, Round } from '@sendledger/worker';

/** Wall-clock schedules looked at in one upkeep. */
const ZONE_RULE_ROWS = 5_000;

/** Partitions ahead, and schedules whose zone has other rules by now. The figures of the database are exported by ops. */
export function upkeepRound(context: AppContext, monthsAhead: number): () => Promise<Round> {
  // Each by itself: rows in a default partition stop the making of months, and are what the alarm is for.
  const part = async (name: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (err) {
      context.log.error({ err, upkeep: name }, 'upkeep_failed');
    }
  };

  return async () => {
    await part('stray rows', async () => {
      const rows = await strayRows(context.sql);
      if (rows > 0) context.log.error({ rows }, 'default_partition_not_empty');
    });
    await part('zone rules', async () => {
      const followed = await durably(context.pool, 'zone rules', (sql) => followZoneRules(sql, ZONE_RULE_ROWS));
      if (followed.moved + followed.asked > 0) context.log.warn(followed, 'zone_rules_changed');
    });
    await part('months', () => ensureMonths(context.sql, monthsAhead));
    return 'none';
  };
}
