import { claim, markNext, registerWorker, rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { DEFAULTS } from './message-file.ts';
import { aHouse, runCli } from './run-cli.ts';

const WHO = ['--tenant', 'shop', '--by', 'asha', '--why', 'a test'];

interface Database {
  readonly url: string;
  readonly pool: import('pg').Pool;
  urlFor(role: string): string;
}

/** Messages of event `e-1`…, all of campaign `spring`; the first `sent` of them are on the wire. */
async function enqueued(database: Database, count: number, sent = 0) {
  const url = database.urlFor('sendledger_cli');
  await aHouse(database.url);
  await database.pool.query('update sendledger.route set max_batch = 1');
  const lines = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ to: '+919876543210', body: 'x', event_id: `e-${i + 1}`, campaign: 'spring' }),
  );
  await runCli(['enqueue', '-', '--format', 'ndjson', ...DEFAULTS], { url, input: lines.join('\n') });
  if (sent > 0) {
    const [route] = await rowsOf<{ id: string }>(database.pool, 'select id from sendledger.route');
    const worker = await registerWorker(database.pool, 'submit', 'submit-0');
    const lane = { routeId: route?.id ?? '', messageClass: 'transactional' as const, limit: sent, workerId: worker.id };
    await claim(database.pool, { ...lane, leaseMs: 60_000 });
    await markNext(database.pool, { ...lane, leaseMs: 60_000, environment: 'test' });
  }
  const rows = await rowsOf<{ id: string; business_key: string; event_type: string; event_id: string }>(
    database.pool,
    'select id, business_key, event_type, event_id from sendledger.outbound_message order by due_at, id',
  );
  return { rows, cli: (...args: string[]) => runCli(['cancel', ...args], { url }) };
}

describe('cancel', () => {
  test('by each name: 0 and the sum; again: the same; a dry run writes nothing', async ({ freshDatabase }) => {
    const { pool } = freshDatabase;
    const { rows, cli } = await enqueued(freshDatabase, 5);
    const [a, b, c] = rows;
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were expected');
    const dry = await cli('--campaign', 'spring', '--dry-run', ...WHO);
    expect(dry).toMatchObject({
      code: 0,
      stdout: 'nothing was done; if it were: 5 cancelled, 0 too late, 0 unknown\n',
      stderr: '',
    });
    expect(await rowsOf(pool, 'select 1 from sendledger.cancellation')).toEqual([]);

    const asked: [string[], number][] = [
      [['--message', a.id], 1],
      [['--key', b.business_key], 1],
      [['--event', c.event_type, c.event_id], 1],
      [['--event', c.event_type, c.event_id], 1],
      [['--tenant-all', '--class', 'transactional'], 2],
      [['--campaign', 'spring'], 5],
    ];
    for (const [args, cancelled] of asked) {
      const ran = await cli(...args, ...WHO);
      expect([args, ran]).toMatchObject([args, { code: 0, stderr: '' }]);
      expect(ran.stdout).toContain(`: ${cancelled} cancelled, 0 too late, 0 unknown`);
    }
    expect(await rowsOf(pool, `select state::text from sendledger.outbound_message group by 1`)).toEqual([
      { state: 'cancelled' },
    ]);
    expect(await rowsOf(pool, `select distinct requested_by, reason from sendledger.cancellation`)).toEqual([
      { requested_by: 'asha', reason: 'a test' },
    ]);
  });

  test('some are on the wire: 3, and they are named; as JSON too', async ({ freshDatabase }) => {
    const { cli } = await enqueued(freshDatabase, 4, 1);
    expect(await cli('--campaign', 'spring', '--dry-run', '--json', ...WHO)).toMatchObject({ code: 3 });
    const ran = await cli('--campaign', 'spring', ...WHO);
    expect(ran).toMatchObject({ code: 3, stderr: '' });
    expect(ran.stdout).toMatch(
      /^cancellation \d+: 3 cancelled, 1 too late, 0 unknown\n\n *ID +OUTCOME[^\n]*\n *\d+ +too_late\n$/,
    );
    const again = await cli('--campaign', 'spring', '--json', '--list', '2', ...WHO);
    expect(JSON.parse(again.stdout)).toMatchObject({
      counts: { cancelled: 3, too_late: 1, unknown: 0 },
      listedAll: false,
      rows: [{ outcome: 'too_late' }, { outcome: 'cancelled' }],
      answeredAt: expect.any(String),
    });
  });

  test('what is not there: 1; what does not make sense: 1, one line, and nothing is written', async ({
    freshDatabase,
  }) => {
    const { cli } = await enqueued(freshDatabase, 1);
    expect(await cli('--message', '999999', ...WHO)).toMatchObject({
      code: 1,
      stdout: 'There is no such message of this tenant. Nothing was written.\n',
    });
    const before = await rowsOf(freshDatabase.pool, 'select 1 from sendledger.cancellation');
    expect(before).toEqual([]);
    for (const args of [
      [...WHO],
      ['--message', '1', '--campaign', 'spring', ...WHO],
      ['--event', 'order', ...WHO],
      ['--event', 'order', '1', '2', ...WHO],
      ['--message', '1', '--class', 'otp', ...WHO],
      ['--message', '1', '--covers-until', '2030-01-01T00:00:00Z', ...WHO],
    ]) {
      const ran = await cli(...args);
      expect([args, ran]).toMatchObject([args, { code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n$/) }]);
    }
    for (const args of [
      ['--message', 'x', ...WHO],
      ['--tenant-all', '--class', 'all', ...WHO],
      ['--tenant-all', '--tenant', 'shop', '--by', 'asha'],
      ['--tenant-all', '--by', 'asha', '--why', 'x'],
    ])
      expect([args, await cli(...args)]).toMatchObject([args, { code: 1, stdout: '' }]);
    expect(await rowsOf(freshDatabase.pool, 'select 1 from sendledger.cancellation')).toEqual([]);
    const nothing = await cli('--campaign', 'autumn', ...WHO);
    expect(nothing).toMatchObject({ code: 1, stdout: expect.stringContaining('what comes is covered') });
  });
});
