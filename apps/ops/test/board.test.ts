import { appRoutes } from '@bull-board/api/dist/routes.js';
import { WAKE_PREFIX, WAKE_QUEUES } from '@sendledger/core';
import { Queue } from 'bullmq';
import { describe, expect } from 'vitest';
import { test } from '../../../infra/local/src/fixtures.ts';
import { opsHere } from './ops-here.ts';

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;

describe('the queues are looked at and not touched', () => {
  test('whatever the board can do is refused by the server, and nothing has changed', async ({ database, redis }) => {
    const here = await opsHere(database, { redisUrl: redis.url });
    const { hostname, port } = new URL(redis.url);
    const queue = new Queue('claim', { connection: { host: hostname, port: Number(port) }, prefix: WAKE_PREFIX });
    const job = await queue.add('1.otp', { lane: '1.otp' });
    try {
      const mutations = appRoutes.api
        .flatMap(({ method, route }) =>
          [method].flat().flatMap((one) => [route].flat().map((path) => [one, path] as const)),
        )
        .filter(([method]) => method !== 'get');
      expect(mutations.length).toBeGreaterThan(15);
      const filled = (path: string) =>
        path
          .replace(':queueName', 'claim')
          .replace(':jobId', String(job.id))
          .replace(/:queueStatus/, 'waiting')
          .replace(/:\w+/g, 'x');
      const asked = [
        ...mutations.map(([method, path]) => [method.toUpperCase(), filled(path)] as const),
        ...METHODS.flatMap((method) =>
          ['', '/', '/api/queues', '/static/x.js', '/nothing'].map((path) => [method, path] as const),
        ),
      ];
      for (const [method, path] of asked) {
        const { status, headers } = await here.ask(`/queues${path}`, { method });
        expect([status, method, path]).toEqual([405, method, path]);
        expect(headers.allow).toBe('GET, HEAD');
      }
      expect(await queue.isPaused()).toBe(false);
      expect(await queue.getJobCounts('waiting', 'failed', 'completed')).toMatchObject({
        waiting: 1,
        failed: 0,
        completed: 0,
      });
      expect((await queue.getJob(String(job.id)))?.data).toEqual({ lane: '1.otp' });

      const list = JSON.parse((await here.ask('/queues/api/queues')).text) as {
        queues: { name: string; readOnlyMode: boolean }[];
      };
      expect(list.queues.map(({ name, readOnlyMode }) => [name, readOnlyMode])).toEqual(
        WAKE_QUEUES.map((name) => [name, true]),
      );
      const page = await here.ask('/queues');
      expect(page.text).toContain('wake-ups, not messages');
      expect(page.text).toContain('<a href="/"');
      expect(page.text).not.toContain('googleapis');
    } finally {
      await queue.close();
      await here.stop();
    }
  });

  test('elsewhere, too, nothing but reading is answered', async ({ database }) => {
    const here = await opsHere(database);
    for (const method of METHODS)
      for (const path of ['/', '/messages', '/messages/1', '/metrics'])
        expect((await here.ask(path, { method })).status).toBe(405);
    await here.stop();
  });

  test('Redis away: the page says so, and every other page is as it was', async ({ database, redis }) => {
    const here = await opsHere(database, { redisUrl: redis.url });
    const gone = async () => (await here.ask('/queues')).status === 503;
    while (await gone()) await new Promise((resolve) => setTimeout(resolve, 25));
    await redis.kill();
    while (!(await gone())) await new Promise((resolve) => setTimeout(resolve, 25));
    expect((await here.ask('/queues')).text).toContain('Redis does not answer');
    expect((await here.ask('/queues/api/queues')).status).toBe(503);
    expect((await here.ask('/')).status).toBe(200);
    expect((await here.ask('/overview/figures')).text).toContain('Redis does not answer');
    await redis.restart();
    while (await gone()) await new Promise((resolve) => setTimeout(resolve, 25));
    await here.stop();
  });

  test('no Redis configured: the page says that, with the same door before it', async ({ database }) => {
    const here = await opsHere(database);
    const { status, text } = await here.ask('/queues');
    expect(status).toBe(503);
    expect(text).toContain('REDIS_URL');
    expect((await here.ask('/queues/api/queues/pause', { method: 'PUT' })).status).toBe(405);
    expect((await here.ask('/')).status).toBe(200);
    await here.stop();
  });
});
