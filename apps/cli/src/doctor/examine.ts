import type { Sql } from '@sendledger/core/ledger';
import type { Settings } from '../settings.ts';
import { attempt, type Check, warning } from './check.ts';
import { dataset, months, oldestDue, reviews, routes, strays, workers } from './ledger-checks.ts';
import { redisCheck } from './redis-check.ts';
import { migrationCheck, reach, serverChecks, sessionRole, synchronousCommit } from './server-checks.ts';

/** All checks, in the order in which one needs the other. */
export async function* examine(sql: Sql, settings: Settings): AsyncGenerator<Check> {
  const { check, facts } = await reach(sql);
  yield check;
  if (facts !== null) {
    yield* serverChecks(facts);
    yield* await attempt('commit', () => synchronousCommit(sql));
    yield* await attempt('role', () => sessionRole(sql));
    yield* examineLedger(sql, settings.environment);
  }
  yield await redisCheck(settings.redisUrl);
}

async function* examineLedger(sql: Sql, environment: string): AsyncGenerator<Check> {
  let usable = false;
  yield* await attempt('migrations', async () => {
    const migrations = await migrationCheck(sql);
    usable = migrations.usable;
    return migrations.check;
  });
  if (!usable) {
    yield warning('ledger', 'not looked at: it needs the migrations', 'Migrate, then run doctor again.');
    return;
  }
  yield* await attempt('partitions', () => months(sql));
  yield* await attempt('default partitions', () => strays(sql));
  yield* await attempt('dataset', () => dataset(sql, environment));
  yield* await attempt('routes', () => routes(sql, environment));
  yield* await attempt('workers', () => workers(sql));
  yield* await attempt('reviews', () => reviews(sql));
  yield* await attempt('due', () => oldestDue(sql));
}
