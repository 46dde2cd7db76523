import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { findRedis, startRedis } from '../src/index.ts';
import { isRunning } from '../src/process-life.ts';

async function withEnvironment(change: Record<string, string | undefined>, work: () => Promise<void>): Promise<void> {
  const before = { ...process.env };
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  try {
    await work();
  } finally {
    process.env = before;
  }
}

async function ask<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

test('a private server keeps nothing on disk, never evicts, and comes back empty on the same port', async () => {
  const redis = await startRedis({ only: 'private' });
  try {
    const { pid, url } = redis;
    expect(await ask(url, (client) => client.config('GET', 'maxmemory-policy'))).toEqual([
      'maxmemory-policy',
      'noeviction',
    ]);
    expect(await ask(url, (client) => client.config('GET', 'save'))).toEqual(['save', '']);
    await ask(url, (client) => client.set('key', 'value'));
    await redis.kill();
    expect(pid !== null && isRunning(pid)).toBe(false);
    expect(redis.pid).toBeNull();
    await redis.restart();
    expect(redis.url).toBe(url);
    expect(redis.pid).not.toBe(pid);
    expect(await ask(url, (client) => client.get('key'))).toBeNull();
  } finally {
    await Promise.all([redis.stop(), redis.stop()]);
  }
  expect(redis.pid).toBeNull();
});

test('REDIS_URL is used as it is and is not ours to kill', async () => {
  const server = await startRedis({ only: 'private' });
  await withEnvironment({ REDIS_URL: server.url }, async () => {
    const given = await startRedis();
    expect(given).toMatchObject({ url: server.url, source: 'environment', pid: null });
    await expect(given.kill()).rejects.toThrow('not ours to kill');
    await given.stop();
    expect(server.pid).not.toBeNull();
  });
  await server.stop();
});

test('a REDIS_URL where nothing answers is an error, not a silent other server', async () => {
  await withEnvironment({ REDIS_URL: 'redis://127.0.0.1:9' }, async () => {
    await expect(findRedis()).rejects.toThrow('REDIS_URL is set but no Redis answers');
  });
});

test('without any Redis findRedis answers null and startRedis says how to get one', async () => {
  await withEnvironment({ REDIS_URL: undefined, PATH: '/nowhere', DOCKER_HOST: 'tcp://127.0.0.1:9' }, async () => {
    expect(await findRedis()).toBeNull();
    await expect(startRedis()).rejects.toThrow(/redis-server.*REDIS_URL/);
  });
}, 30_000);
