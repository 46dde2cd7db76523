import { classGauges, durably, ensureMonths, followZoneRules, strayRows } from '@sendledger/core/ledger';
import { type AppContext, Gauge, type Round } from '@sendledger/worker';
import { receiptAge } from './receipt-age.ts';

/** Wall-clock schedules looked at in one upkeep. */
const ZONE_RULE_ROWS = 5_000;

/** Partitions ahead, and the figures that are read from the database: zero and never absent. */
export function upkeepRound(context: AppContext, monthsAhead: number): () => Promise<Round> {
  const oldest = new Gauge({
    name: 'sendledger_oldest_due_seconds',
    help: 'Age of the oldest due message, by class; 0 when none is due.',
    labelNames: ['message_class'],
    registers: [context.registry],
  });
  const pending = new Gauge({
    name: 'sendledger_pending_ratio',
    help: 'Messages of the last hour still waiting for a receipt, over all that were submitted.',
    labelNames: ['message_class'],
    registers: [context.registry],
  });
  const stray = new Gauge({
    name: 'sendledger_default_partition_rows',
    help: 'Rows in a default partition; anything but 0 is an alarm.',
    registers: [context.registry],
  });

  const ages = receiptAge(context);

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
      stray.set(rows);
      if (rows > 0) context.log.error({ rows }, 'default_partition_not_empty');
    });
    await part('gauges', async () => {
      for (const gauge of await classGauges(context.sql)) {
        oldest.set({ message_class: gauge.messageClass }, gauge.oldestDueSeconds);
        pending.set({ message_class: gauge.messageClass }, gauge.pendingRatio);
      }
    });
    await part('zone rules', async () => {
      const followed = await durably(context.pool, 'zone rules', (sql) => followZoneRules(sql, ZONE_RULE_ROWS));
      if (followed.moved + followed.asked > 0) context.log.warn(followed, 'zone_rules_changed');
    });
    await part('receipt age', ages);
    await part('months', () => ensureMonths(context.sql, monthsAhead));
    return 'none';
  };
}
