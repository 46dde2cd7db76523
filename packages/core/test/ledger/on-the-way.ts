import type pg from 'pg';
import type { MessageClass } from '../../src/domain/state.ts';
import {
  claim,
  durably,
  type MarkedSubmission,
  type MarkRequest,
  markNextIn,
  rowsOf,
  type SubmissionOutcome,
} from '../../src/ledger/index.ts';
import { type EnqueuedRow, enqueue, type Scene } from './scene.ts';

export const laneOf = (scene: Scene, messageClass: MessageClass = 'transactional') => ({
  routeId: scene.routeId,
  messageClass,
});

/** A lease that outlives every test. */
const LEASE_MS = 600_000;

export function claimRequest(scene: Scene, messageClass: MessageClass = 'transactional', limit = 1000) {
  return { ...laneOf(scene, messageClass), limit, leaseMs: LEASE_MS, workerId: scene.worker.id };
}

export function markRequest(scene: Scene, messageClass: MessageClass = 'transactional', limit = 1000): MarkRequest {
  return {
    ...laneOf(scene, messageClass),
    limit,
    leaseMs: LEASE_MS,
    workerId: scene.worker.id,
    environment: scene.environment,
  };
}

/** One message, claimed and not marked. */
export async function claimedMessage(pool: pg.Pool, scene: Scene, messageClass: MessageClass = 'transactional') {
  const [message] = await enqueue(pool, [{ route: scene.name, messageClass }]);
  if (message === undefined) throw new Error('nothing enqueued');
  await claim(pool, claimRequest(scene, messageClass));
  const submission = await submissionOf(pool, message);
  return { message, submission };
}

export async function submissionOf(pool: pg.Pool, message: EnqueuedRow): Promise<EnqueuedRow> {
  const [row] = await rowsOf<{ submission_id: string; submission_created_at: Date }>(
    pool,
    'select submission_id, submission_created_at from sendledger.outbound_message where id = $1 and submission_id is not null',
    [message.id],
  );
  if (row === undefined) throw new Error(`message ${message.id} has no submission`);
  return { id: row.submission_id, createdAt: row.submission_created_at };
}

/** Messages that are marked: what a worker holds while its requests are on the wire. */
export async function marked(
  pool: pg.Pool,
  scene: Scene,
  messages: readonly { recipient?: string; body?: string; more?: Readonly<Record<string, unknown>> }[] = [{}],
  messageClass: MessageClass = 'transactional',
): Promise<MarkedSubmission[]> {
  await enqueue(
    pool,
    messages.map((m) => ({ ...m, route: scene.name, messageClass })),
  );
  await claim(pool, claimRequest(scene, messageClass));
  return durably(pool, (sql) => markNextIn(sql, markRequest(scene, messageClass)));
}

export type RowTo = SubmissionOutcome['rows'][number]['to'];

/** The outcome of a request in which every row went the same way. */
export function outcomeOf(
  s: MarkedSubmission,
  state: SubmissionOutcome['state'],
  options: Partial<SubmissionOutcome> & { to?: RowTo } = {},
): SubmissionOutcome {
  const to: RowTo =
    options.to ??
    ({ accepted: 'submitted', refused: 'rejected', not_sent: 'retry', ambiguous: 'unknown' } as const)[state];
  const { to: _to, ...rest } = options;
  return {
    id: s.id,
    createdAt: s.createdAt,
    leaseToken: s.leaseToken,
    state,
    reason: state,
    proof: state === 'not_sent' ? 'no_connection' : null,
    providerTxnId: state === 'accepted' ? `txn-${s.id}` : null,
    statusCode: '200',
    httpStatus: 200,
    rawReply: Buffer.from('{}'),
    pollInMs: null,
    rows: s.rows.map((row) => ({
      id: row.id,
      createdAt: row.createdAt,
      to,
      reason: state === 'accepted' ? null : state,
      cause: null,
      countsAsAttempt: state !== 'not_sent',
      retryInMs: to === 'retry' ? 0 : null,
    })),
    ...rest,
  };
}

/** Ends the lease of a marked submission, which no statement of the ledger can. */
export async function endLease(pool: pg.Pool, submission: { id: string }): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(`update sendledger.submission set lease_until = now() - interval '1 s' where id = $1`, [
      submission.id,
    ]);
    await client.query('commit');
  } finally {
    client.release();
  }
}

export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) throw new Error(`one was expected, ${items.length} are there`);
  return item;
}
