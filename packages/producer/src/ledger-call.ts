import { businessKey, type PreparedMessage, SendledgerError } from '@sendledger/core';
import type { SqlExecutor } from './sql-executor.ts';

/** Rows of one statement. A bigger call goes in several, in the order of their keys. */
const ROWS_PER_STATEMENT = 1_000;

const SAVEPOINT = 'sendledger_enqueue';

/** What `sendledger.enqueue` says of one row. */
export interface LedgerAnswer {
  readonly answer: 'created' | 'duplicate' | 'conflict' | 'invalid';
  readonly id: string | undefined;
  readonly createdAt: string | undefined;
  readonly attemptKey: string | undefined;
  readonly lane: string | undefined;
  readonly field: string | undefined;
  readonly reason: string | undefined;
}

/** How a call is written. `all`: where one row is refused none is, and the answers say why. `each`: the good ones are. */
export type Wholeness = 'all' | 'each';

/**
 * Writes the rows in the caller's transaction; answers in the order of the rows.
 *
 * All or nothing is the database's own doing where one statement holds the call, else a savepoint's: `refuse` is to throw where an
 * answer is a refusal. The database takes the keys of one statement in order. Where there are several statements the rows are sorted before,
 * so that two calls with the same keys still take them in one order and do not deadlock.
 */
export async function callLedger(
  sql: SqlExecutor,
  rows: readonly PreparedMessage[],
  wholeness: Wholeness,
  refuse: (answers: LedgerAnswer[]) => LedgerAnswer[] = (answers) => answers,
): Promise<LedgerAnswer[]> {
  if (wholeness === 'each') return writeRows(sql, rows, 'enqueue');
  // Where it cannot be told whether there is a transaction, the savepoint is what fails without one.
  const known = sql.getTransactionStatus?.() === 'T';
  if (known && rows.length <= ROWS_PER_STATEMENT) return refuse(await writeRows(sql, rows, 'enqueue_all'));
  return inSavepoint(sql, async () => refuse(await writeRows(sql, rows, 'enqueue')));
}

async function writeRows(
  sql: SqlExecutor,
  rows: readonly PreparedMessage[],
  statement: 'enqueue' | 'enqueue_all',
): Promise<LedgerAnswer[]> {
  const order = rows.map((_, position) => position);
  if (rows.length > ROWS_PER_STATEMENT) {
    const keys = rows.map(keyOf);
    order.sort((a, b) => compare(keys[a] ?? '', keys[b] ?? ''));
  }
  const answers: LedgerAnswer[] = [];
  for (let from = 0; from < order.length; from += ROWS_PER_STATEMENT) {
    const positions = order.slice(from, from + ROWS_PER_STATEMENT);
    const part = positions.map((position) => jsonOf(rows[position])).join(',');
    const result = await sql.query(`select * from sendledger.${statement}($1::json)`, [`[${part}]`]);
    for (const row of result.rows) {
      const position = positions[Number(row.ord) - 1];
      if (position !== undefined) answers[position] = readAnswer(row);
    }
  }
  for (let position = 0; position < rows.length; position++)
    if (answers[position] === undefined)
      throw new SendledgerError('SENDLEDGER_MIGRATION_MISSING', 'It left a row unanswered.');
  return answers;
}

/** A row without what is null in it, which is two thirds of its fields: the database need not read what says nothing. */
function jsonOf(row: PreparedMessage | undefined): string {
  return JSON.stringify(row, (_, value: unknown) => (value === null ? undefined : value));
}

/** Runs `write` so that it can be taken back without the caller's transaction: a savepoint, and back to it on any error. */
async function inSavepoint<T>(sql: SqlExecutor, write: () => Promise<T>): Promise<T> {
  await sql.query(`savepoint ${SAVEPOINT}`);
  try {
    const result = await write();
    await sql.query(`release savepoint ${SAVEPOINT}`);
    return result;
  } catch (error) {
    try {
      await sql.query(`rollback to savepoint ${SAVEPOINT}`);
      await sql.query(`release savepoint ${SAVEPOINT}`);
    } catch {
      // The connection is gone; the first error says why.
    }
    throw error;
  }
}

/** Names the two mistakes that a deployment or a caller makes; everything else passes as it came. */
export function namedError(error: unknown): unknown {
  const code = sqlState(error);
  if (code === '25P01') {
    return new SendledgerError('SENDLEDGER_TRANSACTION_NEEDED', 'The client has not run BEGIN.', { cause: error });
  }
  // Schema, table, function or column that is not there.
  if (code === '3F000' || code === '42P01' || code === '42883' || code === '42703') {
    return new SendledgerError('SENDLEDGER_MIGRATION_MISSING', '', { cause: error });
  }
  return error;
}

function sqlState(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error) return error.code;
  return 'cause' in error ? sqlState(error.cause) : undefined;
}

function keyOf(row: PreparedMessage): string {
  return `${row.tenant_id}\0${businessKey({
    tenantId: row.tenant_id,
    eventType: row.event_type,
    eventId: row.event_id,
    recipient: row.recipient,
    template: row.key_template ?? undefined,
    version: row.key_version ?? undefined,
    step: row.key_step ?? undefined,
    bucket: row.key_bucket ?? undefined,
  })}`;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function readAnswer(row: Record<string, unknown>): LedgerAnswer {
  const { answer } = row;
  if (answer !== 'created' && answer !== 'duplicate' && answer !== 'conflict' && answer !== 'invalid') {
    throw new SendledgerError('SENDLEDGER_MIGRATION_MISSING', 'It gave an answer this program does not know.');
  }
  return {
    answer,
    id: textOrUndefined(row.message_id),
    createdAt: textOrUndefined(row.message_created_at),
    attemptKey: textOrUndefined(row.attempt_key),
    lane: textOrUndefined(row.lane),
    field: textOrUndefined(row.field),
    reason: textOrUndefined(row.reason),
  };
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
