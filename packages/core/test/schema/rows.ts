import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { MessageClass, MessageState, SubmissionState } from '../../src/domain/state.ts';
import { rowsOf, type Sql } from '../../src/ledger/index.ts';

/** Column values by name; what is not named takes the table's default. */
export type Columns = Readonly<Record<string, unknown>>;

export interface Row {
  readonly id: string;
  readonly created_at: Date;
}

/** The insert a test attacks with: every column is the test's own choice. */
export async function insertRow(sql: Sql, table: string, columns: Columns, returning = '*'): Promise<Columns> {
  const names = Object.keys(columns);
  const [row] = await rowsOf<Columns>(
    sql,
    `insert into sendledger.${table} (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})
     returning ${returning}`,
    Object.values(columns),
  );
  if (row === undefined) throw new Error(`the insert into ${table} returned no row`);
  return row;
}

/** What a message needs to be inserted at all. */
export function intent(routeId: string, columns: Columns = {}): Columns {
  return {
    tenant_id: 'shop',
    business_key: randomUUID(),
    event_type: 'order',
    event_id: 'o1',
    channel: 'sms',
    message_class: 'transactional',
    recipient: '919999999999',
    route_id: routeId,
    provider: 'smsgatewaycenter',
    body: 'Your order is ready',
    encoding: 'GSM7',
    segments: 1,
    due_at: new Date(),
    submit_by: new Date(Date.now() + 3_600_000),
    // An OTP is never replayed by itself, and no test here is about the replay.
    on_proven_absent: 'stop',
    ...columns,
  };
}

export const QUOTE = { quoted_units: 1, quoted_cost: '0.1225', quoted_currency: 'INR' };
export const COST = { billable_units: 1, cost: '0.1225', cost_currency: 'INR', cost_source: 'quote' };

/** The columns a submission has in this state. */
export function submissionIn(
  state: SubmissionState,
  routeId: string,
  options: { size?: number; messageClass?: MessageClass; columns?: Columns } = {},
): Columns {
  const marked = state !== 'open' && state !== 'released';
  return {
    route_id: routeId,
    message_class: options.messageClass ?? 'transactional',
    size: options.size ?? 1,
    state,
    epoch_no: 1,
    not_after: new Date(Date.now() + 3_600_000),
    claimed_by: 1,
    lease_until: new Date(Date.now() + 600_000),
    ...(marked ? { marked_by: 1, requested_at: new Date(), lease_token: randomUUID() } : {}),
    ...(state === 'not_sent' ? { outcome_proof: 'never connected' } : {}),
    ...options.columns,
  };
}

/** The columns a message has in this state: what the constraints and the guards ask of it, and nothing else. */
export function messageIn(
  state: MessageState,
  routeId: string,
  submission: Row | null,
  columns: Columns = {},
): Columns {
  const waiting = state === 'pending' || state === 'superseded';
  return intent(routeId, {
    state,
    ...(waiting || submission === null
      ? {}
      : {
          submission_id: submission.id,
          submission_created_at: submission.created_at,
          claimed_at: new Date(),
          ...QUOTE,
        }),
    ...(state === 'submitted' || state === 'delivered' ? { ...COST, submitted_at: new Date() } : {}),
    ...columns,
  });
}

/** Runs `work` as the import role by name: the one writer that may give a row a past. */
export async function asImport<T>(pool: pg.Pool, work: (sql: pg.PoolClient) => Promise<T>): Promise<T> {
  return asRole(pool, 'sendledger_import', work);
}

/** Runs `work` in one transaction as `role`. */
export async function asRole<T>(pool: pg.Pool, role: string, work: (sql: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local role ${role}`);
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

export async function importSubmission(
  pool: pg.Pool,
  state: SubmissionState,
  routeId: string,
  options: Parameters<typeof submissionIn>[2] = {},
): Promise<Row> {
  return asImport(pool, async (sql) =>
    asRow(await insertRow(sql, 'submission', submissionIn(state, routeId, options))),
  );
}

export async function importMessage(
  pool: pg.Pool,
  state: MessageState,
  routeId: string,
  submission: Row | null,
  columns: Columns = {},
): Promise<Row> {
  return asImport(pool, async (sql) =>
    asRow(await insertRow(sql, 'outbound_message', messageIn(state, routeId, submission, columns))),
  );
}

export function asRow(columns: Columns): Row {
  const { id, created_at } = columns;
  if (typeof id !== 'string' || !(created_at instanceof Date)) throw new Error('the row has no id or created_at');
  return { id, created_at };
}

/** The month partition a row of this instant lies in. */
export function leafOf(table: string, createdAt: Date): string {
  return `sendledger.${table}_${createdAt.toISOString().slice(0, 7).replace('-', '_')}`;
}

export interface Refusal {
  readonly code: string;
  readonly constraint: string;
  readonly message: string;
}

/** The database's refusal of a statement, or undefined where it went through. Leaves the caller's transaction usable. */
export async function refusalOf(
  sql: pg.Pool | pg.PoolClient,
  text: string,
  values: unknown[] = [],
): Promise<Refusal | undefined> {
  const inTransaction = 'release' in sql;
  if (inTransaction) await sql.query('savepoint attempt');
  try {
    await sql.query(text, values);
    return undefined;
  } catch (error) {
    const { code, constraint, message } = error as Partial<Refusal>;
    if (code === undefined) throw error;
    if (inTransaction) await sql.query('rollback to savepoint attempt');
    return { code, constraint: constraint ?? '', message: message ?? '' };
  }
}
