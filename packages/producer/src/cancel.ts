import {
  type CancellationFact,
  type CancelReport,
  cancelCovered,
  finishCancellation,
  NO_SUCH_MESSAGE,
  recordCovering,
} from '@sendledger/core/ledger';
import type { DirectoryCache } from './directory.ts';
import { namedError } from './ledger-call.ts';
import { ledgerSql } from './ledger-sql.ts';
import { ownTransactions } from './own-transaction.ts';
import type { SqlExecutor } from './sql-executor.ts';
import type { ClientPool } from './transaction.ts';
import { isMessageId, targetOf, tenantOf, type Which, type WhichSettings } from './which.ts';

/** What is cancelled, who asks and why. */
export interface Cancel {
  readonly which: Which;
  readonly by: string;
  readonly why: string;
  /** Default: the producer's. */
  readonly tenant?: string | undefined;
  /** Messages named in the answer; default 1 000. The counts are always whole. */
  readonly list?: number | undefined;
}

/** A cancellation that is written in the caller's transaction and swept by nobody yet. Plain data: it may be kept. */
export interface RecordedCancellation {
  readonly fact: CancellationFact;
  readonly everything: boolean;
}

const CANCELS = 'A cancellation runs';
const IN_A_TRANSACTION =
  ' Inside your transaction use recordCancellation(), and finishCancellation() after its commit.';

/** Commits the fact, sweeps, answers; in transactions of its own. */
export async function cancelMessages(
  pool: ClientPool,
  wanted: Cancel,
  settings: WhichSettings,
  directory: DirectoryCache,
): Promise<CancelReport> {
  try {
    const own = ownTransactions(pool, CANCELS, IN_A_TRANSACTION);
    const tenantId = tenantOf(wanted.tenant, settings);
    if (notOurs(wanted.which)) return NO_SUCH_MESSAGE;
    const target = await own((sql) => targetOf(asExecutor(sql), wanted.which, tenantId, settings, directory));
    return await cancelCovered(
      own,
      { tenantId, target, by: wanted.by, why: wanted.why },
      wanted.list === undefined ? {} : { list: wanted.list },
    );
  } catch (error) {
    throw namedError(error);
  }
}

/** Writes the fact alone, in the transaction behind `sql`. Null where there is no such message. */
export async function recordCancellation(
  sql: SqlExecutor,
  wanted: Cancel,
  settings: WhichSettings,
  directory: DirectoryCache,
): Promise<RecordedCancellation | null> {
  try {
    const tenantId = tenantOf(wanted.tenant, settings);
    if (notOurs(wanted.which)) return null;
    const target = await targetOf(sql, wanted.which, tenantId, settings, directory);
    const fact = await recordCovering(ledgerSql(sql), { tenantId, target, by: wanted.by, why: wanted.why });
    return fact === null ? null : { fact, everything: target.kind === 'tenant' };
  } catch (error) {
    throw namedError(error);
  }
}

export async function finishRecorded(
  pool: ClientPool,
  { fact, everything }: RecordedCancellation,
  list: number | undefined,
): Promise<CancelReport> {
  try {
    return await finishCancellation(
      ownTransactions(pool, CANCELS, IN_A_TRANSACTION),
      fact,
      everything,
      list === undefined ? {} : { list },
    );
  } catch (error) {
    throw namedError(error);
  }
}

function notOurs(which: Which): boolean {
  return 'messageId' in which && !isMessageId(which.messageId);
}

function asExecutor(sql: { query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> }): SqlExecutor {
  return {
    query: async (text, values) => ({ rows: (await sql.query(text, values)).rows as Record<string, unknown>[] }),
  };
}
