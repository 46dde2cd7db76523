import {
  applyOutcomes,
  claim,
  durably,
  ensureMonths,
  markNext,
  openReview,
  type RowRef,
  registerWorker,
  rowsOf,
} from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { DEFAULTS } from './message-file.ts';
import { aHouse, runCli } from './run-cli.ts';

const RECIPIENT = '919876543210';
const WHO = ['--by', 'asha', '--why', 'the provider said so'];

/** Messages whose request ended this way; one request each. The commands run with the rights of the command line. */
async function messages(
  database: { url: string; pool: pg.Pool; urlFor(role: string): string },
  state: 'accepted' | 'ambiguous',
  events: readonly string[],
): Promise<{ rows: RowRef[]; cli: (...args: string[]) => ReturnType<typeof runCli> }> {
  const { pool } = database;
  const url = database.urlFor('sendledger_cli');
  await aHouse(database.url);
  await ensureMonths(pool, 1);
  await pool.query('update sendledger.route set max_batch = 1');
  const lines = events.map((event_id) => JSON.stringify({ to: `+${RECIPIENT}`, body: 'x', event_id }));
  await runCli(['enqueue', '-', '--format', 'ndjson', ...DEFAULTS], { url, input: lines.join('\n') });
  const [route] = await rowsOf<{ id: string }>(pool, 'select id from sendledger.route');
  const worker = await registerWorker(pool, 'submit', 'submit-0');
  const lane = { routeId: route?.id ?? '', messageClass: 'transactional' as const, limit: 100, workerId: worker.id };
  await claim(pool, { ...lane, leaseMs: 20_000 });
  const marked = await markNext(pool, { ...lane, leaseMs: 60_000, environment: 'test' });
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      marked.map((m) => ({
        id: m.id,
        createdAt: m.createdAt,
        leaseToken: m.leaseToken,
        state,
        reason: state,
        proof: null,
        providerTxnId: state === 'accepted' ? `txn-${m.id}` : null,
        statusCode: '200',
        httpStatus: 200,
        rawReply: null,
        pollInMs: null,
        rows: m.rows.map(({ id, createdAt }) => ({
          id,
          createdAt,
          to: state === 'accepted' ? ('submitted' as const) : ('unknown' as const),
          reason: state,
          cause: null,
          countsAsAttempt: true,
          retryInMs: null,
        })),
      })),
    ),
  );
  const rows = marked.flatMap((m) => m.rows.map(({ id, createdAt }) => ({ id, createdAt })));
  return { rows: rows.toSorted((a, b) => Number(a.id) - Number(b.id)), cli: (...args) => runCli(args, { url }) };
}

const stateOf = async (pool: pg.Pool, id: string | undefined) =>
  (await rowsOf<{ state: string }>(pool, 'select state from sendledger.outbound_message where id = $1', [id]))[0]
    ?.state;

describe('review', () => {
  test('from the list to the decision: one that was sent, one that was not and goes out again, one left', async ({
    freshDatabase,
  }) => {
    const { pool } = freshDatabase;
    const { rows, cli } = await messages(freshDatabase, 'ambiguous', ['e-1', 'e-2', 'e-3']);
    for (const [i, message] of rows.entries())
      await openReview(pool, {
        kind: 'absence_not_proven',
        subject: `message ${message.id}`,
        message,
        evidence: { looked_for: RECIPIENT, records: i },
      });
    const listed = await cli('review', 'list');
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout.trim().split('\n')).toHaveLength(4);
    const ids = (JSON.parse((await cli('review', 'list', '--json')).stdout) as { id: string }[]).map(({ id }) => id);
    const [sent, gone, left] = ids;
    expect((await cli('review', 'list', '--kind', 'no_rate')).stderr).toBe('Nothing waits for a decision.\n');

    const shown = await cli('review', 'show', sent ?? '');
    expect(shown.stdout).toContain('9198******10');
    expect(shown.stdout).toMatch(/unknown +ambiguous/);
    expect(shown.stdout).toContain(`sendledger review resolve ${sent} --as sent|not-sent|leave`);
    expect(shown.stdout + (await cli('review', 'show', sent ?? '', '--json')).stdout).not.toContain(RECIPIENT);
    expect((await cli('review', 'show', sent ?? '', '--reveal')).stdout).toContain(RECIPIENT);

    expect(await cli('review', 'resolve', sent ?? '', '--as', 'sent', ...WHO)).toMatchObject({
      code: 0,
      stdout: `review ${sent} resolved as sent: 1 message moved\n`,
    });
    expect(await stateOf(pool, rows[0]?.id)).toBe('submitted');
    const again = await cli('review', 'resolve', gone ?? '', '--as', 'not-sent', '--replay', ...WHO);
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.stdout).toMatch(
      new RegExp(`1 message moved\\nmessage \\d+ replaces ${rows[1]?.id}, attempt [0-9a-f-]{36}\\n$`),
    );
    expect(await stateOf(pool, rows[1]?.id)).toBe('failed');
    expect(await cli('review', 'resolve', left ?? '', '--as', 'leave', ...WHO)).toMatchObject({
      code: 0,
      stdout: `review ${left} resolved as leave\n`,
    });
    expect(await stateOf(pool, rows[2]?.id)).toBe('unknown');

    const late = await cli('review', 'resolve', sent ?? '', '--as', 'not-sent', '--by', 'ben', '--why', 'x');
    expect(late).toMatchObject({ code: 1, stdout: '' });
    expect(late.stderr).toMatch(/^Review \d+ was resolved as sent by asha at [^\n]*\n$/);
    expect((await cli('review', 'list')).stderr).toBe('Nothing waits for a decision.\n');
    expect((await cli('review', 'list', '--all')).stdout).toContain('sent by asha');
    expect((await cli('show', rows[0]?.id ?? '')).stdout).toMatch(/decided +review_sent by asha, the provider said so/);
  });

  test('what cannot be decided is one line, and exit code 1', async ({ freshDatabase }) => {
    const { pool } = freshDatabase;
    const { cli } = await messages(freshDatabase, 'ambiguous', ['e-1']);
    await openReview(pool, { kind: 'unmapped_code', subject: 'route 1 code 999', evidence: { code: '999' } });
    for (const args of [
      ['resolve', '1', '--as', 'sent', ...WHO],
      ['resolve', '99', '--as', 'leave', ...WHO],
      ['resolve', '1', '--as', 'sent', '--replay', ...WHO],
      ['show', '99'],
    ]) {
      const ran = await cli('review', ...args);
      expect([args, ran]).toMatchObject([args, { code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n$/) }]);
    }
    for (const args of [
      ['resolve', '1', '--as', 'perhaps', ...WHO],
      ['resolve', '1', '--as', 'sent', '--by', 'asha'],
      ['resolve', '1', '--as', 'sent', '--by', ' ', '--why', 'x'],
      ['show', 'x'],
    ])
      expect(await cli('review', ...args)).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('replay', () => {
  test('refused while nobody knows, and that is kept; created once it may; the first tells of its successor', async ({
    freshDatabase,
  }) => {
    const { pool } = freshDatabase;
    const { rows, cli } = await messages(freshDatabase, 'ambiguous', ['e-1']);
    const id = rows[0]?.id ?? '';
    const refused = await cli('replay', id, ...WHO);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^Message \d+ is not replayed \(unknown\): [^\n]*sendledger review list\n$/);
    expect(await cli('replay', id, '--may-duplicate', '--json', ...WHO)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"answer": "unknown"'),
    });
    expect(await rowsOf(pool, 'select who, action from sendledger.audit_log')).toEqual(
      Array(2).fill({ who: 'asha', action: 'replay_refused' }),
    );

    await pool.query(`update sendledger.outbound_message set state = 'failed', state_reason = 'absent'`);
    await runCli(['route', 'add', 'backup', '--provider', 'other', '--sender', 'SHOPIN'], { url: freshDatabase.url });
    const made = await cli(
      'replay',
      'e-1',
      '--route',
      'backup',
      '--submit-by',
      '2099-01-01T00:00:00Z',
      '--json',
      ...WHO,
    );
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const successor = JSON.parse(made.stdout) as { id: string };
    expect(successor).toMatchObject({ answer: 'created', replaces: id });
    expect(
      await rowsOf(pool, 'select provider, submit_by from sendledger.outbound_message where id = $1', [successor.id]),
    ).toEqual([{ provider: 'other', submit_by: new Date('2099-01-01T00:00:00Z') }]);

    const several = await cli('replay', 'e-1', ...WHO);
    expect(several).toMatchObject({ code: 1, stdout: '' });
    expect(several.stderr).toContain(`${successor.id} (pending), ${id} (failed)`);
    expect((await cli('show', id)).stdout).toContain(`replaced by ${successor.id}`);
    expect((await cli('show', successor.id)).stdout).toContain(`replaces ${id}`);
    expect(await cli('replay', 'nothing', ...WHO)).toMatchObject({ code: 1, stdout: '' });
    expect(await cli('replay', id, '--by', 'asha')).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('refund', () => {
  test('is booked once, shown beside the charge, and never more than that', async ({ freshDatabase }) => {
    const { pool } = freshDatabase;
    const { rows, cli } = await messages(freshDatabase, 'accepted', ['e-1']);
    const id = rows[0]?.id ?? '';
    const refund = (amount: string, ...more: string[]) =>
      cli('refund', id, '--amount', amount, '--evidence', 'credit note 7', '--by', 'asha', ...more);
    expect((await refund('0.5')).stderr).toMatch(/only 0\.1225 INR are left/);
    expect((await refund('0.1', '--currency', 'USD')).stderr).toMatch(/charged in INR/);
    expect(await refund('0,1')).toMatchObject({ code: 1, stdout: '' });
    expect(await refund('0')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('SENDLEDGER_AMOUNT_INVALID'),
    });
    expect(await rowsOf(pool, 'select 1 from sendledger.charge_adjustment')).toEqual([]);

    expect(await refund('0.1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('0.0225 INR of its cost are left'),
    });
    expect(await refund('0.1')).toMatchObject({ code: 0, stdout: expect.stringContaining('booked before') });
    const page = (await cli('show', id)).stdout;
    expect(page).toMatch(/^Cost +0\.1225 INR.*adjusted by -0\.1000$/m);
    expect(page).toMatch(/refund +-0\.1000 INR, credit note 7, by asha/);
    expect((await cli('status')).stdout).toMatch(/^INR +0\.1225 +-0\.1000 +1$/m);
  });
});

describe('rate add', () => {
  test('closes the reviews that asked for the price', async ({ freshDatabase }) => {
    const { url, pool } = freshDatabase;
    await runCli(['route', 'add', 'main', '--provider', 'smsgatewaycenter'], { url });
    const [route] = await rowsOf<{ id: string }>(pool, 'select id from sendledger.route');
    for (const price_key of ['otp:IN', 'promotional:IN'])
      await openReview(pool, {
        kind: 'no_rate',
        subject: price_key,
        routeId: route?.id ?? '',
        evidence: { price_key },
      });
    const cli = freshDatabase.urlFor('sendledger_cli');
    const rate = [
      'rate',
      'add',
      '--route',
      'main',
      '--price',
      '0.1',
      '--currency',
      'INR',
      '--key',
      'otp:IN',
      '--by',
      'asha',
    ];
    expect(await runCli(rate, { url: cli })).toMatchObject({ code: 0, stderr: '1 review that asked for it closed\n' });
    expect(
      await rowsOf(pool, 'select subject, resolved_by, resolution from sendledger.review_item order by id'),
    ).toEqual([
      { subject: 'otp:IN', resolved_by: 'asha', resolution: 'rate_added' },
      { subject: 'promotional:IN', resolved_by: null, resolution: null },
    ]);
  });
});
