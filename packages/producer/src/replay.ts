import { type ReplayAnswer, replay } from '@sendledger/core/ledger';
import { namedError } from './ledger-call.ts';
import { ledgerSql } from './ledger-sql.ts';
import type { SqlExecutor } from './sql-executor.ts';

export interface Replay {
  readonly messageId: string;
  /** As `enqueue` answered it; the row's key with the id. */
  readonly createdAt: string | Date;
  /** Who asks, and why: kept in the audit log, whatever the answer. */
  readonly who: string;
  readonly why: string;
  /** Only a message of this tenant; default: the producer's, and where it has none, any. */
  readonly tenantId?: string | undefined;
  /** It was billed and may have arrived, and a second one is acceptable. Never lifts `unknown`. */
  readonly mayDuplicate?: boolean | undefined;
}

export interface ReplayResult {
  /** `created`, or why not; see `ReplayAnswer` in the core. A refusal is an answer, so that the record of it is committed. */
  readonly answer: ReplayAnswer['answer'];
  /** The successor, where it was created. */
  readonly id?: string;
  /** Text in UTC, milliseconds. */
  readonly createdAt?: string;
  readonly attemptKey?: string;
  /** Why it was refused, as half a sentence. */
  readonly reason?: string;
}

export interface Replayed {
  readonly result: ReplayResult;
  readonly lanes: ReadonlySet<string>;
}

/** Sends a message again in the transaction behind `sql`, if it cannot have arrived. */
export async function replayMessage(
  sql: SqlExecutor,
  wanted: Replay,
  defaultTenant: string | undefined,
): Promise<Replayed> {
  try {
    const answer = await replay(ledgerSql(sql), {
      message: { id: wanted.messageId, createdAt: new Date(wanted.createdAt) },
      who: wanted.who,
      why: wanted.why,
      mayDuplicate: wanted.mayDuplicate ?? false,
      tenantId: wanted.tenantId ?? defaultTenant ?? null,
    });
    return { result: resultOf(answer), lanes: new Set(answer.lane === null ? [] : [answer.lane]) };
  } catch (error) {
    throw namedError(error);
  }
}

function resultOf({ answer, message, attemptKey, reason }: ReplayAnswer): ReplayResult {
  return {
    answer,
    ...(message === null ? {} : { id: message.id, createdAt: message.createdAt.toISOString() }),
    ...(attemptKey === null ? {} : { attemptKey }),
    ...(reason === null ? {} : { reason }),
  };
}
