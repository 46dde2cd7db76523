import { applyOutcomes, claim, durably, markNext, registerWorker, rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { cancelLines } from '../src/output/cancel-lines.ts';
import { DEFAULTS } from './message-file.ts';
import { aHouse, runCli } from './run-cli.ts';

const BY = ['--by', 'asha', '--why', 'the sale begins later'];

interface Database {
  readonly url: string;
  readonly pool: import('pg').Pool;
  urlFor(role: string): string;
}

async function enqueued(database: Database, ...lines: readonly Readonly<Record<string, string>>[]): Promise<string[]> {
  const ran = await runCli(['enqueue', '-', '--format', 'ndjson', ...DEFAULTS], {
    url: database.url,
    input: lines
      .map((line, i) => JSON.stringify({ to: `+91987654321${i}`, body: 'x', event_id: `e-${i}`, ...line }))
      .join('\n'),
  });
  if (ran.code !== 0) throw new Error(ran.stderr);
  const rows = await rowsOf<{ id: string }>(
    database.pool,
    'select id from sendledger.outbound_message order by event_id',
  );
  return rows.map(({ id }) => id);
}

/** What the provider took and keeps until its time. */
async function handedOver(database: Database): Promise<void> {
  const [route] = await rowsOf<{ id: string }>(database.pool, 'select id from sendledger.route');
  const worker = await registerWorker(database.pool, 'submit', 'submit-0');
  const lane = { routeId: route?.id ?? '', messageClass: 'transactional' as const, limit: 10, workerId: worker.id };
  await claim(database.pool, { ...lane, leaseMs: 60_000 });
  for (const { id, createdAt, leaseToken, rows } of await markNext(database.pool, {
    ...lane,
    leaseMs: 60_000,
    environment: 'test',
  }))
    await durably(database.pool, (sql) =>
      applyOutcomes(sql, [
        {
          ...{
            id,
            createdAt,
            leaseToken,
            state: 'accepted',
            reason: 'accepted',
            proof: null,
            providerTxnId: `txn-${id}`,
          },
          ...{ statusCode: '200', httpStatus: 200, rawReply: Buffer.from('{}'), pollInMs: null },
          rows: rows.map((row) => ({
            ...{ id: row.id, createdAt: row.createdAt, to: 'submitted', reason: null, retryInMs: null },
            ...{ statusCode: null, cause: null },
          })),
        },
      ] as unknown as Parameters<typeof applyOutcomes>[1]),
    );
}

describe('schedule move', () => {
  test('of what waits: moved; by the clock of a zone; refused with 1 and why', async ({ freshDatabase }) => {
    await aHouse(freshDatabase.url);
    const [id = '', now = ''] = await enqueued(
      freshDatabase,
      { scheduled_for: '2090-01-10T09:00', scheduled_tz: 'Asia/Kolkata' },
      {},
    );
    const url = freshDatabase.urlFor('sendledger_cli');
    const moveTo = (to: string, ...more: string[]) =>
      runCli(['schedule', 'move', id, '--to', to, ...more, ...BY], { url });
    expect(await moveTo('2090-01-11T09:00')).toEqual({
      code: 0,
      stdout: 'moved: it waits until 2090-01-11T03:30:00.000Z\n',
      stderr: '',
    });
    expect(JSON.parse((await moveTo('2090-01-11T09:00', '--zone', 'Asia/Kathmandu', '--json')).stdout)).toMatchObject({
      answer: 'moved',
      scheduledFor: '2090-01-11T03:15:00.000Z',
    });
    expect(await moveTo('2020-01-11T09:00Z')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('not moved: the new time is past'),
    });
    for (const bad of [['tomorrow'], ['2090-01-11T09:00', '--zone', 'Mars/One']])
      expect(await moveTo(...(bad as [string]))).toMatchObject({ code: 1, stdout: '' });
    expect(await runCli(['schedule', 'move', now, '--to', '2090-01-01T00:00Z', ...BY], { url })).toMatchObject({
      code: 1,
      stderr: 'not moved: it was not scheduled\n',
    });
    expect(await runCli(['schedule', 'move', id, '--to', '2090-01-01T00:00Z'], { url })).toMatchObject({ code: 1 });
  });

  test('of what a provider holds: it is asked, and the list says so', async ({ freshDatabase }) => {
    const { pool } = freshDatabase;
    const url = freshDatabase.urlFor('sendledger_cli');
    await aHouse(freshDatabase.url);
    expect(await runCli(['schedule', 'list'], { url })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('No provider holds'),
    });
    const lead = ['route', 'set', 'main', '--schedule-lead', '5m', '--by', 'meera', '--why', 'they hold schedules'];
    expect(await runCli(lead, { url })).toMatchObject({ code: 0 });
    const [id = ''] = await enqueued(freshDatabase, { scheduled_for: '2027-01-10T09:00:00Z', held_by: 'provider' });
    await handedOver(freshDatabase);
    const listed = await runCli(['schedule', 'list', '--json'], { url });
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { id, route: 'main', scheduledFor: '2027-01-10T09:00:00.000Z', asked: [] },
    ]);
    const asked = await runCli(['schedule', 'move', id, '--to', '2027-01-11T09:00Z', ...BY], { url });
    expect(asked).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('was asked to send it at 2027-01-11T09:00:00.000Z'),
    });
    expect((await runCli(['schedule', 'list'], { url })).stdout).toMatch(
      /to move it to 2027-01-11T09:00:00.000Z, by asha, 0 times$/m,
    );
    expect(await rowsOf(pool, 'select requested_by, reason from sendledger.schedule_change')).toEqual([
      { requested_by: 'asha', reason: 'the sale begins later' },
    ]);
  });
});

test('a cancellation says what the provider still holds, and whether it was asked to drop it', () => {
  const rows = [true, undefined].map((providerAsked, i) => ({
    id: `${i + 1}`,
    createdAt: new Date(0),
    outcome: 'too_late' as const,
    heldUntil: new Date('2027-01-10T09:00:00Z'),
    ...(providerAsked === undefined ? {} : { providerAsked }),
  }));
  const lines = cancelLines({
    cancellationId: '1',
    counts: { cancelled: 0, too_late: 2, unknown: 0 },
    notFound: false,
    rows,
    listedAll: true,
    answeredAt: new Date(0),
    coversUntil: null,
    providerAsked: 1,
    lanes: new Set(),
  }).join('\n');
  expect(lines).toContain('1 of them the provider still holds, and was asked to drop');
  expect(lines).toMatch(/1 +too_late +the provider holds it until 2027-01-10T09:00:00.000Z and was asked to drop it$/m);
  expect(lines).toMatch(/2 +too_late +the provider holds it until 2027-01-10T09:00:00.000Z$/m);
});
