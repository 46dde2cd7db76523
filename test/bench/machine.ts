import { cpus, loadavg, totalmem } from 'node:os';
import type { Sql } from '@sendledger/core/ledger';
import { rowsOf } from '@sendledger/core/ledger';
import { Redis } from 'ioredis';

/** What a figure was measured on; without it the figure says nothing. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly node: string;
  readonly postgres: string;
  readonly redis: string;
  /** Load average of one minute, before anything was started: what others do here. */
  readonly loadBefore: number;
}

export async function machineOf(sql: Sql, redisUrl: string, loadBefore: number): Promise<Machine> {
  const [server] = await rowsOf<{ version: string; settings: string }>(
    sql,
    `select current_setting('server_version') as version,
       'fsync ' || current_setting('fsync') || ', shared_buffers ' || current_setting('shared_buffers') as settings`,
  );
  const client = new Redis(redisUrl);
  const info = await client.info('server');
  client.disconnect();
  const processors = cpus();
  return {
    cores: processors.length,
    processor: processors[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    postgres: `${server?.version.split(' ')[0]} (${server?.settings})`,
    redis: /^redis_version:(.*?)\r?$/m.exec(info)?.[1] ?? 'unknown',
    loadBefore,
  };
}

export const loadNow = () => Math.round((loadavg()[0] ?? 0) * 100) / 100;
