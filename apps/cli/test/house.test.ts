import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { aHouse, runCli } from './run-cli.ts';

const oneLine = expect.stringMatching(/^[^\n]+\n$/);

describe('migrate', () => {
  test('an empty database, ten times at once: one applies, all are content', async ({
    freshDatabase: { url, pool },
  }) => {
    await pool.query('drop schema sendledger cascade');
    const runs = await Promise.all(
      Array.from({ length: 10 }, () => runCli(['migrate', '--environment', 'staging'], { url })),
    );
    expect(runs.map((r) => [r.code, r.stderr])).toEqual(runs.map(() => [0, '']));
    expect(runs.filter((r) => r.stdout.includes('applied 0001_roles'))).toHaveLength(1);
    expect(runs.filter((r) => r.stdout === 'up to date\n')).toHaveLength(9);
    const { rows } = await pool.query('select environment from sendledger.dataset_epoch');
    expect(rows).toEqual([{ environment: 'staging' }]);
  });

  test('months further ahead are made and named', async ({ freshDatabase: { url } }) => {
    const ran = await runCli(['migrate', '--ahead', '5'], { url });
    expect(ran.stdout.match(/^made outbound_message_\d{4}_\d{2}$/gm)).toHaveLength(2);
    expect(await runCli(['migrate', '--ahead', '5'], { url })).toMatchObject({ code: 0, stdout: 'up to date\n' });
    expect(await runCli(['migrate', '--ahead', 'many'], { url })).toMatchObject({ code: 1 });
  });
});

describe('what every command says of a database it cannot use', () => {
  test('no DATABASE_URL, no server, no database, no schema', async ({ freshDatabase: { url, pool } }) => {
    const unset = await runCli(['status']);
    expect(unset).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
    expect(unset.stderr).toContain('DATABASE_URL must be set');
    const wrong = await runCli(['status'], { url: 'mysql://me:secret@localhost/x' });
    expect(wrong).toMatchObject({ code: 1, stderr: oneLine });
    expect(wrong.stderr).not.toContain('secret');
    for (const url of ['postgres://127.0.0.1:1/x', 'postgres://nosuchhost.invalid/x'])
      for (const command of ['migrate', 'status']) {
        const ran = await runCli([command], { url });
        expect(ran).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
        expect(ran.stderr).toContain('SENDLEDGER_DATABASE_UNREACHABLE');
      }
    await pool.query('drop schema sendledger cascade');
    for (const args of [['status'], ['show', '1'], ['route', 'list'], ['template', 'list'], ['rate', 'list']]) {
      const ran = await runCli(args, { url });
      expect(ran).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
      expect(ran.stderr).toContain('npm run sendledger -- migrate');
    }
    const input = JSON.stringify({
      tenant: 'a',
      to: '+919876543210',
      body: 'a',
      event_id: 'a',
      event_type: 'a',
      class: 'otp',
    });
    const enqueue = await runCli(['enqueue', '-', '--format', 'ndjson'], { url, input });
    expect(enqueue).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
    expect(enqueue.stderr).toContain('npm run sendledger -- migrate');
  });
});

describe('route and rate', () => {
  test('a route is made once, and left as it is when added again', async ({ freshDatabase: { url, pool } }) => {
    await aHouse(url);
    const again = await runCli(['route', 'add', 'main', '--provider', 'smsgatewaycenter'], { url });
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('is there already') });
    const other = await runCli(['route', 'add', 'main', '--provider', 'kannel'], { url });
    expect(other).toMatchObject({ code: 1, stderr: oneLine });
    for (const bad of [
      ['Main'],
      ['x', '--zone', 'Mars/One'],
      ['x', '--max-batch', '0'],
      ['x', '--sender', 'far too long for it'],
    ])
      expect((await runCli(['route', 'add', ...bad, '--provider', 'p'], { url })).code).toBe(1);
    const listed = await runCli(['route', 'list', '--json'], { url });
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { name: 'main', account: 'default', maxBatch: 500, paused: false },
    ]);
    const { rows } = await pool.query(
      'select encoding_rule, provider_zone, default_sender_id, sender_required from sendledger.route',
    );
    expect(rows).toEqual([
      { encoding_rule: 'ascii', provider_zone: 'Asia/Kolkata', default_sender_id: 'SHOPIN', sender_required: true },
    ]);
  });

  test('a route and a lane are paused with a reason, and resumed', async ({ freshDatabase: { url, pool } }) => {
    await aHouse(url);
    expect((await runCli(['route', 'pause', 'main'], { url })).code).toBe(1);
    expect(await runCli(['route', 'pause', 'main', '--reason', 'late receipts'], { url })).toMatchObject({ code: 0 });
    expect((await runCli(['route', 'list'], { url })).stdout).toMatch(/main .* yes/);
    expect(await runCli(['route', 'resume', 'main'], { url })).toMatchObject({ stdout: 'route main resumed\n' });
    await runCli(['route', 'pause', 'main', '--class', 'otp', '--reason', 'r'], { url });
    const { rows } = await pool.query('select message_class from sendledger.lane where paused_at is not null');
    expect(rows).toEqual([{ message_class: 'otp' }]);
    expect(await runCli(['route', 'resume', 'nope'], { url })).toMatchObject({ code: 1, stderr: oneLine });
  });

  test('a breaker is seen, its probe is called for, and bounds are changed by somebody for a reason', async ({
    freshDatabase: { url, pool },
  }) => {
    await aHouse(url);
    expect(await runCli(['route', 'probe', 'main'], { url })).toMatchObject({
      stdout: expect.stringContaining('closed'),
    });
    await pool.query(
      `update sendledger.route set breaker_state = 'open', breaker_opened_at = now(), breaker_reason = 'the balance is empty',
         probe_at = now() + interval '1 h'`,
    );
    expect((await runCli(['route', 'list'], { url })).stdout).toMatch(/open: the balance is empty/);
    expect(await runCli(['route', 'probe', 'main'], { url })).toMatchObject({ code: 0 });
    expect((await pool.query('select probe_at <= now() as due from sendledger.route')).rows).toEqual([{ due: true }]);

    const set = ['route', 'set', 'main', '--in-flight', '64', '--threshold', '9', '--zone', 'UTC'];
    expect((await runCli(set, { url })).code).toBe(1);
    const said = ['--by', 'meera', '--why', 'the provider allows more'];
    expect(await runCli([...set, ...said], { url })).toMatchObject({ code: 0 });
    expect((await runCli(['route', 'set', 'main', ...said], { url })).stderr).toContain('Nothing to change');
    const { rows } = await pool.query(
      'select max_in_flight_requests as requests, breaker_threshold as threshold, provider_zone as zone, max_in_flight_rows as rows from sendledger.route',
    );
    expect(rows).toEqual([{ requests: 64, threshold: 9, zone: 'UTC', rows: 20_000 }]);
    expect((await pool.query('select who, action, why from sendledger.audit_log')).rows).toEqual([
      { who: 'meera', action: 'route_set', why: 'the provider allows more' },
    ]);
  });

  test('a route in India gets a window for promotions, unless it is told otherwise', async ({
    freshDatabase: { url, pool },
  }) => {
    const add = (name: string, ...more: string[]) =>
      runCli(['route', 'add', name, '--provider', 'smsgatewaycenter', '--sender', 'SHOPIN', ...more], { url });
    await add('india');
    await add('always', '--window', 'promotional=none');
    await add('other', '--window', 'promotional=09:00-20:00@Asia/Kolkata', '--window', 'transactional=08:00-24:00@UTC');
    await add('abroad', '--zone', 'Europe/Berlin');
    const { rows } = await pool.query(
      `select r.name, l.message_class, l.window_opens::text || '-' || l.window_closes::text || ' ' || l.window_zone as window
       from sendledger.route r join sendledger.lane l on l.route_id = r.id where l.window_zone is not null order by r.id, l.message_class`,
    );
    expect(rows).toEqual([
      { name: 'india', message_class: 'promotional', window: '10:00:00-21:00:00 Asia/Kolkata' },
      { name: 'other', message_class: 'transactional', window: '08:00:00-24:00:00 UTC' },
      { name: 'other', message_class: 'promotional', window: '09:00:00-20:00:00 Asia/Kolkata' },
    ]);
    for (const bad of [
      ['promotional'],
      ['ads=10:00-21:00@UTC'],
      ['promotional=10-21@UTC'],
      ['promotional=10:00-10:00@UTC'],
      ['promotional=24:00-10:00@UTC'],
      ['promotional=10:00-21:00@Mars/One'],
      ['otp=none', '--window', 'otp=none'],
    ])
      expect([bad, await add('bad', '--window', ...bad)]).toMatchObject([bad, { code: 1, stdout: '' }]);
  });

  test('windows and the lead of held schedules are set by somebody for a reason, and seen', async ({
    freshDatabase: { url, pool },
  }) => {
    await aHouse(url);
    const said = ['--by', 'meera', '--why', 'the rules of the regulator'];
    const set = (...what: string[]) => runCli(['route', 'set', 'main', ...what, ...said], { url });
    expect(
      await set('--window', 'promotional=none', '--window', 'otp=00:00-24:00@UTC', '--schedule-lead', '2h'),
    ).toMatchObject({
      code: 0,
      stdout: 'route main changed\n',
    });
    expect((await runCli(['route', 'list'], { url })).stdout).toMatch(/otp 00:00-24:00 UTC +from 02:00:00 ahead/);
    expect(await set('--window', 'otp=none', '--schedule-lead', 'none')).toMatchObject({ code: 0 });
    const listed = JSON.parse((await runCli(['route', 'list', '--json'], { url })).stdout);
    expect(listed).toMatchObject([{ windows: [], scheduleLead: null }]);
    for (const bad of ['5', '0m', '5 minutes', 'soon'])
      expect([bad, await set('--schedule-lead', bad)]).toMatchObject([bad, { code: 1, stdout: '' }]);
    const { rows } = await pool.query('select action, who from sendledger.audit_log order by id');
    expect(rows).toEqual(
      ['route_set', 'lane_window_set', 'lane_window_set', 'route_set', 'lane_window_set'].map((action) => ({
        action,
        who: 'meera',
      })),
    );
  });

  test('prices do not overlap; one is ended where the next begins', async ({ freshDatabase: { url } }) => {
    await aHouse(url);
    const next = [
      'rate',
      'add',
      '--route',
      'main',
      '--price',
      '0.13',
      '--currency',
      'INR',
      '--from',
      '2027-01-01T00:00:00+05:30',
    ];
    const overlap = await runCli(next, { url });
    expect(overlap).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
    expect(overlap.stderr).toContain('rate end');
    const end = ['rate', 'end', '--route', 'main', '--at', '2027-01-01T00:00:00+05:30'];
    expect(await runCli(end, { url })).toMatchObject({ code: 0 });
    expect(await runCli(next, { url })).toMatchObject({ code: 0 });
    expect(JSON.parse((await runCli(['rate', 'list', '--json'], { url })).stdout)).toMatchObject([
      { priceKey: '*', price: '0.122500' },
      { priceKey: '*', price: '0.130000' },
    ]);
    for (const bad of [
      ['--price', '0.12345678', '--currency', 'INR'],
      ['--price', '1,5', '--currency', 'INR'],
      ['--price', '1', '--currency', 'rupees'],
      ['--price', '1', '--currency', 'INR', '--key', 'sms:IN'],
      ['--price', '1', '--currency', 'INR', '--from', '2027-01-01'],
      [
        '--price',
        '1',
        '--currency',
        'INR',
        '--key',
        'otp:*',
        '--from',
        '2027-01-02T00:00Z',
        '--to',
        '2027-01-01T00:00Z',
      ],
    ])
      expect(await runCli(['rate', 'add', '--route', 'main', ...bad], { url })).toMatchObject({ code: 1, stdout: '' });
    const nowhere = await runCli(['rate', 'add', '--route', 'nope', '--price', '1', '--currency', 'INR'], { url });
    expect(nowhere).toMatchObject({ code: 1, stderr: 'There is no route nope. There are: main.\n' });
  });
});

describe('tenant', () => {
  test('is set bit by bit, by somebody for a reason, and listed', async ({ freshDatabase }) => {
    const url = freshDatabase.urlFor('sendledger_cli');
    const said = ['--by', 'meera', '--why', 'no consent for promotions'];
    const set = (...what: string[]) => runCli(['tenant', 'set', 'bank', ...what], { url });
    expect((await runCli(['tenant', 'list'], { url })).stderr).toContain('No tenant was set yet');
    expect((await set('--region', 'IN')).code).toBe(1);
    expect(await set(...said)).toMatchObject({ code: 1, stderr: oneLine });
    for (const bad of [
      ['--classes', 'otp,ads'],
      ['--classes', ''],
      ['--region', 'india'],
      ['--weight', '0'],
    ])
      expect([bad, await set(...bad, ...said)]).toMatchObject([bad, { code: 1, stdout: '' }]);

    expect(await set('--region', 'IN', '--classes', 'otp, transactional', ...said)).toEqual({
      code: 0,
      stdout: 'tenant bank set\n',
      stderr: '',
    });
    await set('--weight', '3', ...said);
    const listed = async () => JSON.parse((await runCli(['tenant', 'list', '--json'], { url })).stdout);
    expect(await listed()).toEqual([{ id: 'bank', region: 'IN', classes: ['otp', 'transactional'], weight: 3 }]);
    expect((await runCli(['tenant', 'list'], { url })).stdout).toMatch(/bank +IN +otp,transactional +3/);
    await set('--classes', 'all', ...said);
    expect(await listed()).toEqual([{ id: 'bank', region: 'IN', classes: null, weight: 3 }]);
    const { rows } = await freshDatabase.pool.query(
      'select who, action, why, subject, details from sendledger.audit_log order by id',
    );
    expect(rows).toMatchObject([
      { who: 'meera', action: 'tenant_set', why: 'no consent for promotions', subject: 'tenant bank' },
      { details: { weight: 3 } },
      { details: { classes: 'all' } },
    ]);
  });
});

describe('template', () => {
  const template = {
    id: '1207161234567890123',
    version: 1,
    class: 'otp',
    sender: 'SHOPIN',
    body: '{{code}} is your code.',
    variables: [{ name: 'code', pattern: '[0-9]{6}', secret: true }],
    dlt: { entityId: '1201159876543210987', templateId: '1207161234567890123' },
  };

  test('is added once, recognised, and refused with other content', async ({ freshDatabase: { url, pool } }) => {
    const add = (value: unknown) => runCli(['template', 'add', '-'], { url, input: JSON.stringify(value) });
    expect((await add(template)).stdout).toMatch(/ added$/m);
    expect(await add(template)).toMatchObject({ code: 0, stdout: expect.stringContaining('with the same content') });
    const other = await add({ ...template, body: '{{code}} is the code.' });
    expect(other).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
    expect(await add({ ...template, version: '2', body: '{{code}} is the code.' })).toMatchObject({ code: 0 });
    const listed = JSON.parse((await runCli(['template', 'list', '--json'], { url })).stdout);
    expect(listed).toMatchObject([{ version: '1' }, { version: '2' }]);
    const { rows } = await pool.query(
      'select dlt_entity_id, sender_id from sendledger.message_template where version = 1',
    );
    expect(rows).toEqual([{ dlt_entity_id: '1201159876543210987', sender_id: 'SHOPIN' }]);
  });

  test('says what it falls back to, and a version never changes that either', async ({ freshDatabase: { url } }) => {
    const add = (value: unknown) => runCli(['template', 'add', '-'], { url, input: JSON.stringify(value) });
    const fallback = [{ template: { id: 'call', version: 2 }, channel: 'voice', afterSeconds: 60, mayDuplicate: true }];
    expect((await add({ ...template, fallback })).stdout).toMatch(/ added$/m);
    expect((await add({ ...template, fallback })).stdout).toContain('with the same content');
    expect(await add(template)).toMatchObject({ code: 1, stderr: oneLine });
    const listed = JSON.parse((await runCli(['template', 'list', '--json'], { url })).stdout);
    expect(listed).toMatchObject([{ fallback }]);
    for (const [bad, said] of [
      [[{ template: { id: 'call' }, afterSeconds: 60 }], 'fallback.0.mayDuplicate'],
      [[{ template: { id: 'call' }, channel: 'telegram' }], 'fallback.0.channel'],
      [[{ body: 'x' }], 'fallback.0'],
      [Array.from({ length: 6 }, () => ({ template: { id: 'call' } })), 'fallback'],
    ] as const) {
      const ran = await add({ ...template, version: 2, fallback: bad });
      expect(ran).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
      expect(ran.stderr).toContain(said);
    }
  });

  test('what is no template is refused with the field', async ({ freshDatabase: { url } }) => {
    for (const [value, said] of [
      ['{', 'is not JSON'],
      [JSON.stringify({ ...template, version: 'v2' }), 'version: must be a whole number'],
      [JSON.stringify({ ...template, body: '{{cde}}' }), '{{cde}} is not declared'],
      [JSON.stringify({ ...template, boddy: 'x' }), 'boddy'],
      [JSON.stringify({ ...template, dlt: { entityId: 120 } }), 'dlt.entityId'],
    ] as const) {
      const ran = await runCli(['template', 'add', '-'], { url, input: value });
      expect(ran).toMatchObject({ code: 1, stdout: '', stderr: oneLine });
      expect(ran.stderr).toContain(said);
    }
    expect(await runCli(['template', 'add', 'nowhere.json'], { url })).toMatchObject({
      stderr: 'nowhere.json does not exist.\n',
    });
  });
});
