import { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import type { BucketShape, Taken } from './bucket.ts';

/** A limiter that hangs must not hold up a mark; a command that is not answered by then counts as not granted. */
const COMMAND_TIMEOUT_MS = 250;

/**
 * The same bucket as `bucket.ts`, by the clock of Redis, for the whole fleet. A key that is not there is an empty bucket and not
 * a full one: after a flush nobody knows what was just spent. So keys have no expiry; there is one a route.
 */
const TAKE = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval = tonumber(ARGV[1])
local burst = tonumber(ARGV[2])
local wanted = tonumber(ARGV[3])
local keep = tonumber(ARGV[4])
local least = tonumber(ARGV[5])
local owed = tonumber(redis.call('HGET', KEYS[1], 'tat'))
local before = tonumber(redis.call('HGET', KEYS[1], 'interval'))
local tat
if not owed then
  tat = now + burst * interval
else
  tat = owed
  if before and before ~= interval and tat > now then tat = now + (tat - now) / before * interval end
end
local most = now + 32 * math.max(burst, least) * interval
if tat > most then tat = most end
local from = tat
if from < now then from = now end
local tolerance = (burst - keep) * interval
local granted = math.floor((tolerance - (from - now)) / interval + 1e-9)
if granted < least and tat <= now then granted = least end
if granted > wanted then granted = wanted end
if granted < 0 then granted = 0 end
if granted > 0 then tat = from + granted * interval end
redis.call('HSET', KEYS[1], 'tat', string.format('%.0f', tat), 'interval', string.format('%.6f', interval))
local wait = 0
if granted < wanted then
  local base = tat
  if base < now then base = now end
  local needed = math.min(least * interval, tolerance)
  wait = math.ceil((base + math.max(interval, needed) - tolerance - now) / 1000)
  if wait < 0 then wait = 0 end
end
return { granted, wait }`;

/** A token is worth what it is worth now: taken at another rate, it would come back as more than one. */
const GIVE_BACK = `
local tat = tonumber(redis.call('HGET', KEYS[1], 'tat'))
local interval = tonumber(redis.call('HGET', KEYS[1], 'interval'))
if tat and interval then redis.call('HSET', KEYS[1], 'tat', string.format('%.0f', tat - tonumber(ARGV[1]) * interval)) end
return 1`;

/** Buckets in Redis. Never resends a command: what may have been granted once must not be granted twice. */
export class RedisBuckets {
  readonly #redis: Redis;

  constructor(url: string, log: Log) {
    this.#redis = new Redis(url, {
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: 2_000,
      commandTimeout: COMMAND_TIMEOUT_MS,
    });
    this.#redis.on('error', (err) => log.debug({ err }, 'limiter_redis_error'));
  }

  get up(): boolean {
    return this.#redis.status === 'ready';
  }

  /** @throws whatever Redis does; then nothing was granted, though something may be spent. */
  async take(key: string, shape: BucketShape, wanted: number, keep: number, least = 1): Promise<Taken> {
    if (shape.rate <= 0) return { granted: 0, waitMs: Number.POSITIVE_INFINITY };
    const answer = await this.#redis.eval(
      TAKE,
      1,
      key,
      `${1e6 / shape.rate}`,
      `${shape.burst}`,
      `${wanted}`,
      `${keep}`,
      `${least}`,
    );
    const [granted, waitMs] = answer as [number, number];
    return { granted, waitMs };
  }

  async giveBack(key: string, unused: number): Promise<void> {
    if (unused <= 0) return;
    await this.#redis.eval(GIVE_BACK, 1, key, `${unused}`);
  }

  /**
   * Whether a bucket can be written now: a Redis that hangs or is full is connected and grants nothing.
   */
  async works(): Promise<boolean> {
    try {
      await this.take('sendledger:rate:probe', { rate: 1, burst: 1 }, 0, 0);
      return true;
    } catch {
      return false;
    }
  }

  close(): void {
    this.#redis.disconnect();
  }
}
