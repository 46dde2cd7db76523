import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes, applyReceipts, cancelCovered, claim, durably, fallBack, finishCancellation, markNext, overdue,
  recordCovering, recordReceipts, replay, type RowRef, rowsOf, type SubmissionOutcome, sweepMarkedLeases, undeliverable,
  settleAsNotSent,
} from '../../src/ledger/index.ts';
import { claimRequest, endLease, markRequest, only, outcomeOf, type RowTo } from './on-the-way.ts';
import { CODE_TEMPLATE, type EnqueuedRow, enqueue, type Scene, scene, stateOf } from './scene.ts';

const step = (s: Scene, more: Readonly<Record<string, unknown>> = {}) => ({
  channel: 'sms', route: s.name, sender_id: null, body: 'Sent another way', encoding: 'GSM7', segments: '1', ...more,
});
async function chained(pool: pg.Pool, s: Scene, fallback: readonly object[], more: Readonly<Record<string, unknown>> = {}, extra: object = {}): Promise<EnqueuedRow> {
  return only(await enqueue(pool, [{ route: s.name, event: randomUUID(), more: { fallback, on_proven_absent: 'stop', ...more }, ...extra }]));
}
async function mark1(pool: pg.Pool, s: Scene, cls: 'transactional' | 'otp' = 'transactional') {
  await claim(pool, { ...claimRequest(s, cls), leaseMs: 60_000 });
  return only(await markNext(pool, markRequest(s, cls)));
}
async function through(pool: pg.Pool, s: Scene, state: SubmissionOutcome['state'], to?: RowTo, cls: 'transactional' | 'otp' = 'transactional') {
  const submission = await mark1(pool, s, cls);
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, state, to === undefined ? {} : { to })]));
  return submission;
}
const take = (pool: pg.Pool, message: RowRef) => durably(pool, (sql) => fallBack(sql, message));
const all = (pool: pg.Pool) => rowsOf<{ id: string; state: string; body: string; due_min: number }>(pool,
  `select id, state::text, body, round(extract(epoch from due_at - now()) / 60)::integer as due_min, replaces_id, state_reason from sendledger.outbound_message order by id`);
async function replica(pool: pg.Pool, text: string, values: unknown[] = []) {
  const client = await pool.connect();
  try {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(text, values);
    await client.query('commit');
  } finally { client.release(); }
}
const receipt = (s: Scene, txn: string, recipient: string, status: 'delivered' | 'failed' | 'open') => ({
  providerTxnId: txn, providerMessageId: `m-${txn}`, recipient, senderId: null, statusWord: status, status, cause: null, causeClass: null,
  submittedAt: null, deliveredAt: null, evidence: {},
});
async function evidence(pool: pg.Pool, s: Scene, r: ReturnType<typeof receipt>) {
  const origin = { routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' as const };
  const stored: any = await durably(pool, (sql) => recordReceipts(sql, origin, [r as any]));
  const hashes = (await rowsOf<{ h: Buffer }>(pool, 'select dedupe_hash as h from sendledger.delivery_receipt where applied_at is null')).map((x) => x.h);
  return durably(pool, (sql) => applyReceipts(sql, origin, hashes));
}

describe('chains', () => {
  test('A1 after a time-based step whose duplicate was accepted, the next step (no duplicate accepted) is not taken while the first is submitted or delivered', async ({ freshDatabase: { pool } }) => {
    const [first, second, third] = [await scene(pool), await scene(pool), await scene(pool)];
    const message = await chained(pool, first, [step(second, { after_s: '600', may_duplicate: true, body: 'two' }), step(third, { body: 'three' })]);
    const sub = await through(pool, first, 'accepted');
    await replica(pool, `update sendledger.outbound_message set submitted_at = now() - interval '1 h' where id = $1`, [message.id]);
    await replica(pool, `update sendledger.fallback set look_at = now() where look_at is not null`);
    const late = await durably(pool, (sql) => overdue(sql, 10));
    const two = (await take(pool, only(late))).message!;
    // Now the first is delivered.
    await evidence(pool, first, receipt(first, `txn-${sub.id}`, '919999999999', 'delivered'));
    expect(await stateOf(pool, message.id)).toBe('delivered');
    await through(pool, second, 'refused');
    expect(await stateOf(pool, two.id)).toBe('rejected');
    const answer = await take(pool, two);
    console.log('A1', answer, await all(pool));
    expect(answer.answer).not.toBe('created');
  });

  test('A2 first called not sent, replayed, replay rejected; the first turns out delivered: the chain does not go on', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    const message = await chained(pool, first, [step(second)], { on_proven_absent: 'replay' });
    const sub = await mark1(pool, first);
    await endLease(pool, sub);
    await durably(pool, (sql) => sweepMarkedLeases(sql, 10));
    await durably(pool, (sql) => settleAsNotSent(sql, [message], { reason: 'proven_not_submitted', proof: 'x', proven: true, correlation: 'not_found', windowMs: 1 }));
    const again = (await all(pool)).at(-1)!;
    await through(pool, first, 'refused');
    expect(await stateOf(pool, again.id)).toBe('rejected');
    // late reply of the first: accepted, then delivered
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(sub, 'accepted')]));
    const r = await evidence(pool, first, receipt(first, `txn-${sub.id}`, '919999999999', 'delivered'));
    const lost = await undeliverable(pool, 10);
    const answers = [];
    for (const l of lost) answers.push(await take(pool, l));
    console.log('A2', r, lost, answers, await all(pool));
    expect(answers.map((a) => a.answer)).not.toContain('created');
  });

  test('A3 fallback of a message scheduled for later is not sent before its time', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    await pool.query(`update sendledger.route set schedule_lead = interval '1 minute'`);
    const at = new Date(Date.now() + 48 * 3_600_000).toISOString();
    const message = await chained(pool, first, [step(second)], { scheduled_for: at, held_by: 'provider' });
    await through(pool, first, 'refused');
    const answer = await take(pool, message);
    console.log('A3', answer, await all(pool), await claim(pool, claimRequest(second)));
    const rows = await all(pool);
    expect(rows.at(-1)!.state).not.toBe('claimed');
  });

  test('A4 "not delivered in time" of a message the provider holds counts from its schedule', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    await pool.query(`update sendledger.route set schedule_lead = interval '1 minute'`);
    const at = new Date(Date.now() + 48 * 3_600_000).toISOString();
    const message = await chained(pool, first, [step(second, { after_s: '1', may_duplicate: true })], { scheduled_for: at, held_by: 'provider' });
    await through(pool, first, 'accepted');
    await new Promise((r) => setTimeout(r, 1_500));
    const late = await durably(pool, (sql) => overdue(sql, 10));
    const answers = [];
    for (const l of late) answers.push(await take(pool, l));
    console.log('A4', late, answers, await all(pool));
    expect(answers.map((a) => a.answer)).not.toContain('created');
  });

  test('A5 cancellation recorded in a transaction that is open while the chain goes on', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'refused');
    const [key] = await rowsOf<{ k: string }>(pool, 'select business_key as k from sendledger.outbound_message where id = $1', [message.id]);
    const client = await pool.connect();
    await client.query('begin');
    const fact = await recordCovering(client, { tenantId: 'shop', target: { kind: 'key', businessKey: key!.k }, by: 'app', why: 'order withdrawn' });
    await new Promise((r) => setTimeout(r, 30));
    const answer = await take(pool, message);
    await client.query('commit');
    client.release();
    const report = await finishCancellation((w) => durably(pool, w), fact!, false);
    const claimed = await claim(pool, claimRequest(second));
    console.log('A5', answer, report, claimed, await all(pool));
    expect(claimed.rows).toBe(0);
  });

  test('A6 a newer code takes the place of an older one, its chain included', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    const more = { fallback: [step(second, { ...CODE_TEMPLATE, body: 'old code 1111' })], on_proven_absent: 'stop' };
    const old = only(await enqueue(pool, [{ route: first.name, messageClass: 'otp', body: 'old code 1111', more }]));
    await through(pool, first, 'refused', undefined, 'otp');
    const newer = only(await enqueue(pool, [{ route: first.name, messageClass: 'otp', body: 'new code 2222' }]));
    await through(pool, first, 'accepted', undefined, 'otp');
    const answer = await take(pool, old);
    const claimed = await claim(pool, claimRequest(second, 'otp'));
    console.log('A6', answer, claimed, await all(pool));
    expect(claimed.rows).toBe(0);
  });

  test('A7 a step on sms of a message on rcs with a recipient that is no number', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    await pool.query(`update sendledger.route set channel = 'rcs' where id = $1`, [first.routeId]);
    const r = await rowsOf(pool, 'select answer, field, reason from sendledger.enqueue($1::json)', [JSON.stringify([{ tenant_id: 'shop', channel: 'rcs', message_class: 'transactional', recipient: 'not-a-number', event_type: 'o', event_id: '1', body: 'x', encoding: 'GSM7', segments: '1', route: first.name, fallback: [step(second)] }])]);
    console.log('A7', r);
    expect(r).toMatchObject([{ answer: 'invalid' }]);
  });

  test('A8 chain rows whose key is gone are redacted with their message', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    const message = await chained(pool, first, [step(second, { body: 'secret text' })]);
    await through(pool, first, 'accepted');
    await replica(pool, `update sendledger.outbound_message set state = 'delivered' where id = $1`, [message.id]);
    await pool.query(`update sendledger.message_key set forget_after = now() - interval '1 s'`);
    await pool.query(`delete from sendledger.message_key`);
    await pool.query(`select sendledger.redact_final(now() + interval '1 h', 100)`);
    const f = await rowsOf(pool, 'select body, look_at, taken_at from sendledger.fallback');
    console.log('A8', f, await all(pool));
    expect(f).toMatchObject([{ body: '[redacted]' }]);
  });

  test('A9 chain redaction where key moved on by replay of a person with the chain used up', async ({ freshDatabase: { pool } }) => {
    const [first, second] = [await scene(pool), await scene(pool)];
    const message = await chained(pool, first, [step(second, { body: 'secret text' })]);
    await through(pool, first, 'refused');
    const two = (await take(pool, message)).message!;
    await through(pool, second, 'accepted');
    await replica(pool, `update sendledger.outbound_message set state = 'delivered' where id = $1`, [two.id]);
    await pool.query(`select sendledger.redact_final(now() + interval '1 h', 100)`);
    const f = await rowsOf(pool, 'select body, look_at, taken_at from sendledger.fallback');
    console.log('A9', f);
    expect(f).toMatchObject([{ body: '[redacted]' }]);
  });
});
