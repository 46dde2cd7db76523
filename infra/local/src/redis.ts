import { Redis } from 'ioredis';
import { LocalServiceError, reasonOf } from './errors.ts';
import { startRedisContainer } from './redis-container.ts';
import { redisServerOnPath, startRedisServer } from './redis-server.ts';

/** A Redis to work with: given by the environment, or started here. */
export interface LocalRedis {
  readonly url: string;
  readonly source: 'environment' | 'server' | 'docker';
  /** The server's process; null unless it is a redis-server started here. */
  readonly pid: number | null;
  /** Ends what was started here; leaves a given server alone. May be called twice. */
  stop(): Promise<void>;
  /** SIGKILL, as after a crash. @throws LocalServiceError for a given server, which is not ours to kill. */
  kill(): Promise<void>;
  /** Kills the server if it runs and starts it again, empty, on the same port. @throws LocalServiceError as `kill`. */
  restart(): Promise<void>;
}

/** How to find Redis. */
export interface RedisOptions {
  /** Insist on a server of our own, even where `REDIS_URL` is set: for tests that kill it. */
  only?: 'private';
}

const HOW_TO_GET_REDIS = 'no Redis: install the package `redis-server`, or set REDIS_URL, or start Docker';

/**
 * Finds or starts Redis: `REDIS_URL` if set, else `redis-server` from PATH on a free loopback port, else Docker
 * (`redis:8`), else null. What is started keeps nothing on disk and ends with this process, however that ends.
 * @throws LocalServiceError when `REDIS_URL` is set and does not answer.
 */
export async function findRedis(options: RedisOptions = {}): Promise<LocalRedis | null> {
  const given = process.env.REDIS_URL;
  if (options.only !== 'private' && given !== undefined && given !== '') return givenRedis(given);
  if (await redisServerOnPath()) return startRedisServer();
  try {
    return await startRedisContainer();
  } catch {
    return null;
  }
}

/**
 * As `findRedis`, for callers that cannot go on without.
 * @throws LocalServiceError that says in one line how to get Redis.
 */
export async function startRedis(options: RedisOptions = {}): Promise<LocalRedis> {
  const redis = await findRedis(options);
  if (redis === null) throw new LocalServiceError('redis', HOW_TO_GET_REDIS);
  return redis;
}

async function givenRedis(url: string): Promise<LocalRedis> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 5000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    throw new LocalServiceError('redis', `REDIS_URL is set but no Redis answers there: ${reasonOf(error)}`);
  } finally {
    client.disconnect();
  }
  const notOurs = async (): Promise<never> => {
    throw new LocalServiceError('redis', 'the Redis of REDIS_URL is not ours to kill; ask for { only: "private" }');
  };
  return { url, source: 'environment', pid: null, stop: async () => undefined, kill: notOurs, restart: notOurs };
}
