import { SendledgerError } from '@sendledger/core';
import type { SqlExecutor } from './sql-executor.ts';

/** A client of a `pg` pool. */
export interface TransactionClient extends SqlExecutor {
  release(error?: Error | boolean): void;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** A `pg` pool, or anything that lends clients the same way. */
export interface ClientPool {
  connect(): Promise<TransactionClient>;
}

/** The pool's own client type, so that `fn` sees all of it; `pg` also has a form with a callback, which is passed over. */
export type ClientOf<P extends ClientPool> = P extends {
  connect: { (): Promise<infer C>; (...args: never[]): unknown };
}
  ? C extends TransactionClient
    ? C
    : TransactionClient
  : TransactionClient;

/**
 * Runs `work` between BEGIN and COMMIT; an error rolls back and passes on.
 *
 * @throws SendledgerError SENDLEDGER_COMMIT_ROLLED_BACK when `work` swallowed a failed statement: Postgres then answers
 *   COMMIT with a rollback and no error, and the caller would believe in rows that are not there.
 */
export async function inTransaction<T>(client: TransactionClient, work: () => Promise<T>): Promise<T> {
  let broken: Error | undefined;
  // A connection that is lost while it is lent says so by an event, and an event without a listener ends the process.
  const lost = (error: Error) => {
    broken = error;
  };
  client.on?.('error', lost);
  try {
    await client.query('begin');
    try {
      const result = await work();
      const committed = await client.query('commit');
      if ('command' in committed && committed.command === 'ROLLBACK') {
        throw new SendledgerError('SENDLEDGER_COMMIT_ROLLED_BACK', '');
      }
      return result;
    } catch (error) {
      // After a commit that was answered, this is a notice and no more.
      await client.query('rollback').catch((cause: unknown) => {
        broken = cause instanceof Error ? cause : new Error('rollback failed');
      });
      throw error;
    }
  } finally {
    client.off?.('error', lost);
    // A client whose transaction could not be ended must not go back to the pool.
    client.release(broken);
  }
}
