import { readSettings } from '@sendledger/worker';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { test as base } from '../../../infra/local/src/fixtures.ts';
import { hostName } from '../src/access/host-names.ts';
import { isLoopback } from '../src/access/loopback.ts';
import type { OpsOptions } from '../src/ops.ts';
import { checkOpsSettings, OPS_SETTINGS } from '../src/settings.ts';
import { type OpsHere, opsHere } from './ops-here.ts';

const test = base.extend<'ops', (change: Partial<OpsOptions>) => Promise<OpsHere>>(
  'ops',
  { scope: 'file' },
  async ({ database }, { onCleanup }) => {
    const started: OpsHere[] = [];
    onCleanup(async () => {
      await Promise.all(started.map((one) => one.stop()));
    });
    return async (change: Partial<OpsOptions>) => {
      const one = await opsHere(database, change);
      started.push(one);
      return one;
    };
  },
);

/** Of each room and what belongs to it; one that is not there, too. */
const PATHS = [
  '/',
  '/overview/figures',
  '/messages',
  '/messages?q=919999999999',
  '/messages/1',
  '/messages/1?reveal=1',
  '/queues',
  '/queues/',
  '/queues/queue/claim',
  '/queues/api/queues',
  '/queues/static/favicon-32x32.png',
  '/metrics',
  '/static/ops.css',
  '/static/refresh.js',
  '/nothing/here',
  '//livez',
  '/livez/',
];
const OPEN = ['/livez', '/readyz'];
const CREDENTIALS = { user: 'asha', password: 'a-long-password' };
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

describe('who may ask', () => {
  test('on loopback everybody; what is there is answered', async ({ ops, redisUrl }) => {
    const here = await ops({ redisUrl });
    for (const path of [...PATHS, ...OPEN]) expect((await here.ask(path)).status, path).not.toBe(401);
    for (const path of ['/', '/messages', '/metrics', ...OPEN]) expect((await here.ask(path)).status, path).toBe(200);
  });

  for (const host of ['0.0.0.0', '127.0.0.1'])
    test(`with credentials on ${host} every route needs them, and health alone does not`, async ({ ops, redisUrl }) => {
      const here = await ops({ host, credentials: CREDENTIALS, redisUrl });
      const wrong = [
        {},
        basic('asha', 'a-long-passwore'),
        basic('asha', ''),
        basic('', 'a-long-password'),
        basic('ASHA', 'a-long-password'),
        { authorization: 'Bearer a-long-password' },
        { authorization: 'Basic !!!' },
      ];
      for (const path of PATHS)
        for (const headers of wrong)
          for (const method of ['GET', 'POST', 'HEAD']) {
            const { status, text, headers: answered } = await here.ask(path, { headers, method });
            expect([status, path, method], JSON.stringify(headers)).toEqual([401, path, method]);
            expect(answered['www-authenticate']).toContain('Basic');
            expect(text).not.toContain('a-long-password');
          }
      for (const path of PATHS)
        expect((await here.ask(path, { headers: basic('asha', 'a-long-password') })).status, path).not.toBe(401);
      for (const path of ['/%zz', '/messages/%E0%A4%A', '/queues/%c0']) {
        const { status, text } = await here.ask(path);
        expect([status, text]).toEqual([400, 'That is no address.\n']);
      }
      for (const path of OPEN) {
        const { status, text } = await here.ask(path);
        expect(status).toBe(200);
        expect(Object.keys(JSON.parse(text))).toEqual(['status']);
      }
      expect(JSON.stringify(here.log)).not.toContain('a-long-password');
    });

  test('anywhere but on loopback it does not start without credentials', () => {
    const start = (host: string, given: Record<string, string>) => () =>
      readSettings(
        OPS_SETTINGS,
        { DATABASE_URL: 'postgres://x@y/z', SENDLEDGER_OPS_HOST: host, ...given },
        checkOpsSettings,
      );
    const both = { SENDLEDGER_OPS_USER: 'asha', SENDLEDGER_OPS_PASSWORD: 'a-long-password' };
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])
      expect(start(host, {})).not.toThrow();
    for (const host of ['0.0.0.0', '::', '10.0.0.1', '::ffff:10.0.0.1', 'ops.example.com', '127.0.0.1.nip.io', '1']) {
      expect(start(host, {}), host).toThrow(
        /SENDLEDGER_OPS_USER must be set where .*SENDLEDGER_OPS_PASSWORD must be set where/,
      );
      expect(start(host, { SENDLEDGER_OPS_USER: 'asha' })).toThrow(/SENDLEDGER_OPS_PASSWORD must be set where/);
      expect(start(host, both)).not.toThrow();
    }
    expect(start('127.0.0.1', { SENDLEDGER_OPS_USER: 'asha' })).toThrow(/SENDLEDGER_OPS_PASSWORD must be set/);
    expect(start('0.0.0.0', { ...both, SENDLEDGER_OPS_PASSWORD: 'short' })).toThrow(/at least 12 characters/);
    expect(start('0.0.0.0', { ...both, SENDLEDGER_OPS_USER: 'a:b' })).toThrow(/colons/);
  });
});

describe('what a browser may do with it', () => {
  test('a name that was pointed at loopback is not answered: a website must not read it through a browser', async ({
    ops,
  }) => {
    const here = await ops({ hostNames: ['ops.example.com'] });
    for (const host of [
      'evil.example',
      'evil.example:8700',
      '127.0.0.1.nip.io',
      'localhost.evil.example',
      '10.0.0.1',
      '[::2]:1',
      'a b',
    ])
      for (const path of ['/', '/metrics', '/messages/1', '/static/ops.css', '/nothing'])
        expect((await here.ask(path, { headers: { host } })).status, `${host} ${path}`).toBe(421);
    for (const host of [
      'localhost',
      'LOCALHOST:1',
      '127.0.0.1:99',
      '[::1]:8700',
      'ops.example.com',
      'OPS.example.com:443',
    ])
      expect((await here.ask('/', { headers: { host } })).status, host).toBe(200);
  });

  test('the name in a Host header is read or refused, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (header) => {
        const name = hostName(header);
        expect(name === null || header.toLowerCase().includes(name)).toBe(true);
        if (name !== null && isLoopback(name)) expect(header).toMatch(/^(127\.|\[?::1|\[?0*:|localhost)/i);
      }),
    );
  });

  test('every answer bears the headers, and loads nothing of others', async ({ ops, redisUrl }) => {
    const here = await ops({ redisUrl });
    for (const path of PATHS) {
      const { headers, text } = await here.ask(path);
      const policy = String(headers['content-security-policy']);
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toMatch(/script-src 'self'(;|$)/);
      expect(policy).toContain("frame-ancestors 'none'");
      if (!path.startsWith('/queues')) expect(policy, path).not.toContain('unsafe');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(headers['cache-control']).toMatch(/no-store|private/);
      if (String(headers['content-type']).startsWith('text/html'))
        expect(text.match(/(?:src|href|action)="(?:https?:)?\/\/[^"]*"/g) ?? [], path).toEqual([]);
    }
  });
});
