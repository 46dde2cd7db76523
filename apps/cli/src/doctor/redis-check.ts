import { Redis } from 'ioredis';
import { type Check, ok, warning } from './check.ts';

const TIMEOUT_MS = 2_000;
const POLLING = 'everything works by polling, slower by the poll interval';

/** Redis carries hints and limits and no truth: whatever is wrong with it is a warning. */
export async function redisCheck(redisUrl: string | null): Promise<Check> {
  if (redisUrl === null) return warning('redis', `REDIS_URL is not set; ${POLLING}`, 'Set REDIS_URL.');
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    retryStrategy: () => null,
  });
  // The reason comes with the event; the rejected call only says that the connection is closed.
  let reason = '';
  redis.on('error', (error: Error & { code?: string }) => {
    reason = error.message || error.code || reason;
  });
  try {
    await redis.connect();
    await redis.ping();
    return policyCheck(await redis.info());
  } catch (error) {
    return warning(
      'redis',
      `it does not answer (${reason || (error as Error).message}); ${POLLING}`,
      'Check REDIS_URL, and that Redis runs.',
    );
  } finally {
    redis.disconnect();
  }
}

/** From INFO and not from CONFIG, which managed services forbid. */
function policyCheck(info: string): Check {
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const version = read('redis_version') ?? 'of unknown version';
  const policy = read('maxmemory_policy');
  return policy === undefined || policy === 'noeviction'
    ? ok('redis', `reachable, ${version}, ${policy ?? 'eviction unknown'}`)
    : warning(
        'redis',
        `maxmemory-policy is ${policy}: wake-ups and limits may be evicted, and then ${POLLING}`,
        'Set maxmemory-policy noeviction.',
      );
}
