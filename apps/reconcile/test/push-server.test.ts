import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { rowsOf } from '@sendledger/core/ledger';
import { Registry } from '@sendledger/worker';
import { describe, expect, onTestFinished } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { until } from '../../../test/support/settled.ts';
import type { PushResult } from '../src/push-intake.ts';
import { isSameSecret, readPushPath } from '../src/push-path.ts';
import { PushServer, type PushServerOptions } from '../src/push-server.ts';
import { aRoute } from './accepted-submission.ts';
import { ACCOUNT, portalPush, pushAdapter, pushHere, SECRET } from './push-here.ts';

const PATH = `/push/${ACCOUNT}/${SECRET}`;

/** A server whose pushes go nowhere; `take` answers each. */
async function serverOnly(take: () => Promise<PushResult>, options: Partial<PushServerOptions> = {}) {
  const server = new PushServer(
    new Registry(),
    new Map([[ACCOUNT, pushAdapter()]]),
    { take, tooLong: () => undefined },
    {
      host: '127.0.0.1',
      port: 0,
      secret: SECRET,
      bodyLimit: 1_024,
      ...options,
    },
  );
  const origin = await server.listen();
  return { server, origin };
}

/** A connection that keeps what it is told until it ends. */
function rawClient(origin: string): { socket: Socket; said: () => string; ended: Promise<unknown> } {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  let said = '';
  socket.on('data', (chunk) => {
    said += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  return { socket, said: () => said, ended: once(socket, 'close') };
}

describe('who may push', () => {
  test('a wrong path, secret, account or method: the same empty 404, and nothing is read or stored', async ({
    freshDatabase: database,
  }) => {
    await aRoute(database.pool, 'default');
    const here = await pushHere(database.pool);
    const body = new URLSearchParams(portalPush('t1', '919000000001'));
    const wrong: [string, string][] = [
      ['POST', '/'],
      ['POST', '/push'],
      ['POST', `${PATH}/`],
      ['POST', `${PATH}/more`],
      ['POST', PATH.slice(0, -1)],
      ['POST', `${PATH}x`],
      ['POST', PATH.replace(SECRET, SECRET.toUpperCase())],
      ['POST', PATH.replace(SECRET, '')],
      ['POST', PATH.replace('default', 'other')],
      ['POST', PATH.replace('smsgatewaycenter', 'another')],
      ['POST', PATH.replace('default', '%E0%A4%A')],
      ['POST', `/livez`],
      ['PUT', PATH],
      ['DELETE', PATH],
    ];
    const answers = new Set<string>();
    for (const [method, path] of wrong) {
      const answer = await fetch(`${here.origin}${path}`, { method, body });
      const headers = [...answer.headers].filter(([name]) => name !== 'date');
      answers.add(JSON.stringify([answer.status, headers, await answer.text()]));
    }
    expect([...answers]).toEqual([
      JSON.stringify([
        404,
        [
          ['connection', 'close'],
          ['content-length', '0'],
        ],
        '',
      ]),
    ]);
    expect(await here.answered('refused')).toBe(wrong.length);
    expect(await here.answered('stored')).toBe(0);
    expect(await rowsOf(database.pool, 'select 1 from sendledger.delivery_receipt')).toEqual([]);
  });

  test('the secret is compared as a whole, whatever its length', () => {
    expect(isSameSecret(SECRET, SECRET)).toBe(true);
    for (const given of ['', SECRET.slice(1), `${SECRET}a`, SECRET.replace('o', '0'), '\u0000', 'ü'.repeat(40)])
      expect(isSameSecret(given, SECRET)).toBe(false);
  });

  test('names are decoded, and the query is not part of the path', () => {
    expect(readPushPath('/push/p/main%20account/s?a=1&b=/push/x')).toMatchObject({
      provider: 'p',
      account: 'main account',
      secret: 's',
    });
    expect(readPushPath('/push/p/a/s')?.query.size).toBe(0);
    expect(readPushPath('*')).toBeNull();
  });
});

describe('what a push may be', () => {
  test('a portal that tries the address gets its 200: bare, empty, or with junk', async ({
    freshDatabase: database,
  }) => {
    const here = await pushHere(database.pool);
    for (const [method, body] of [
      ['GET', null],
      ['HEAD', null],
      ['POST', ''],
      ['POST', 'test=1'],
      ['POST', '{"hello":'],
    ] as const) {
      const answer = await fetch(here.url, { method, body });
      expect([answer.status, await answer.text()]).toEqual([200, '']);
    }
    expect(await here.answered('unreadable')).toBe(5);
  });

  test('a form, a query, JSON: each is one receipt, stored as a hint in the zone of its route', async ({
    freshDatabase: database,
  }) => {
    const routeId = await aRoute(database.pool, 'default');
    await database.pool.query(`update sendledger.route set provider_zone = 'UTC'`);
    const here = await pushHere(database.pool);
    expect(await here.post(portalPush('form', '919000000001'))).toBe(200);
    const query = new URLSearchParams(portalPush('query', '919000000002', { ErrorCode: '27' }));
    expect((await fetch(`${here.url}?${query}`)).status).toBe(200);
    const json = JSON.stringify({ transId: 'json', msgId: 'pm-json', errorCode: '0', mobile: '919000000003' });
    expect((await fetch(here.url, { method: 'POST', body: json })).status).toBe(200);
    expect(
      await rowsOf(
        database.pool,
        `select provider_txn_id as txn, status, status_word as word, source, hint, route_id, provider_delivered_at as at
         from sendledger.delivery_receipt order by id`,
      ),
    ).toEqual(
      [
        { txn: 'form', status: 'delivered', word: 'ErrorCode 0', at: new Date('2026-07-17T12:00:05Z') },
        { txn: 'query', status: 'unmapped', word: 'ErrorCode 27', at: new Date('2026-07-17T12:00:05Z') },
        { txn: 'json', status: 'delivered', word: 'ErrorCode 0', at: null },
      ].map((row) => ({ ...row, source: 'push', hint: true, route_id: routeId })),
    );
    expect(await here.answered('stored')).toBe(3);
  });

  test('a body over the limit: 413 and the connection is closed, announced or not; at the limit it is read', async () => {
    let taken = 0;
    const { server, origin } = await serverOnly(async () => {
      taken++;
      return 'stored';
    });
    const announced = rawClient(origin);
    // Nothing of the body is sent: the announcement is enough.
    announced.socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 1025\r\n\r\n`);
    await announced.ended;
    expect(announced.said()).toMatch(/^HTTP\/1\.1 413 /);

    const chunked = rawClient(origin);
    const chunk = `200\r\n${'x'.repeat(512)}\r\n`;
    chunked.socket.write(
      `POST ${PATH} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunk}${chunk}1\r\ny\r\n`,
    );
    await chunked.ended;
    expect(chunked.said()).toMatch(/^HTTP\/1\.1 413 /);
    expect(taken).toBe(0);

    expect((await fetch(`${origin}${PATH}`, { method: 'POST', body: 'x'.repeat(1_024) })).status).toBe(200);
    expect(taken).toBe(1);
    await server.close();
  });
});

describe('clients that take their time, or leave', () => {
  const patience = { headers: 500, request: 1_000, idle: 500, check: 50 };

  test('half a header, half a body, silence after an answer: each connection is closed', async () => {
    const { server, origin } = await serverOnly(async () => 'stored', { patience });
    const headers = rawClient(origin);
    headers.socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\nx-slow: `);
    const body = rawClient(origin);
    body.socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nTrans`);
    const idle = rawClient(origin);
    idle.socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await Promise.all([headers.ended, body.ended, idle.ended]);
    expect(headers.said()).toMatch(/^HTTP\/1\.1 408 /);
    expect(body.said()).toMatch(/^HTTP\/1\.1 408 /);
    expect(idle.said()).toMatch(/^HTTP\/1\.1 200 /);
    await server.close();
  });

  test('one that leaves in the middle of its body is no push; one that leaves before the answer is', async () => {
    let taken = 0;
    let answer = (_: PushResult) => undefined as undefined;
    const { server, origin } = await serverOnly(() => {
      taken++;
      return new Promise((resolve) => {
        answer = (result) => {
          resolve(result);
        };
      });
    });
    const early = rawClient(origin);
    early.socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nTrans`, () =>
      early.socket.destroy(),
    );
    await early.ended;
    const late = rawClient(origin);
    late.socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await until(() => taken === 1);
    late.socket.destroy();
    await late.ended;
    answer('stored');
    // Neither is left behind: this would never resolve.
    await server.close();
    expect(taken).toBe(1);
  });

  test('a shutdown waits for what is being stored and answers it, and cuts who is still talking', async () => {
    let release = (_: PushResult) => undefined as undefined;
    let taken = 0;
    const { server, origin } = await serverOnly(() => {
      taken++;
      return new Promise((resolve) => {
        release = (result) => {
          resolve(result);
        };
      });
    });
    const talking = rawClient(origin);
    talking.socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nTrans`);
    const pushing = fetch(`${origin}${PATH}`);
    await until(() => taken === 1);
    let closed = false;
    const closing = server.close().then(() => {
      closed = true;
    });
    await talking.ended;
    await expect(fetch(`${origin}${PATH}`)).rejects.toThrow();
    expect(closed).toBe(false);
    release('stored');
    expect((await pushing).status).toBe(200);
    await closing;
  });
});
