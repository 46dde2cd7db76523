import { type IncomingHttpHeaders, request } from 'node:http';
import { registerWorker, rowsOf } from '@sendledger/core/ledger';
import { createLog, createWakeUps, type Loop, Registry } from '@sendledger/worker';
import pg from 'pg';
// By path: this app has no dependency on the local servers.
import type { TestDatabase } from '../../../infra/local/src/index.ts';
import { type OpsOptions, startOps } from '../src/ops.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface OpsHere {
  readonly url: string;
  /** Lines of the log, as they were written. */
  readonly log: readonly string[];
  /** One request, redirects not followed. */
  ask(path: string, options?: { method?: string; headers?: Record<string, string> }): Promise<Answer>;
  /** Resolves when everything that is in the ledger now has been counted, and pages that were read before are forgotten. */
  counted(): Promise<void>;
  /** Its series by name and labels in the order of their names, without the app's. */
  series(): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

/** The ops app in this process, on a socket of its own, with the rights of its role and nothing more. */
export async function opsHere(database: TestDatabase, change: Partial<OpsOptions> = {}): Promise<OpsHere> {
  const pool = new pg.Pool({ connectionString: database.urlFor('sendledger_ops'), max: 4 });
  pool.on('error', () => undefined);
  const lines: string[] = [];
  const log = createLog('ops', 'debug', 'test', {
    write: (line: string) => {
      lines.push(line);
    },
  });
  const registry = new Registry();
  const worker = await registerWorker(pool, 'ops', `test-${lines.length}-${Math.random()}`);
  const running = await startOps(
    { pool, sql: pool, log, registry, worker, wakeUps: createWakeUps(undefined, log) },
    { alive: () => null, ready: () => null, degraded: () => null },
    {
      host: '127.0.0.1',
      port: 0,
      hostNames: [],
      credentials: null,
      redisUrl: null,
      census: { spanHours: 24, intervalMs: 100 },
      ...change,
    },
  );
  const [loop] = running.loops as readonly [Loop];
  loop.start();
  const url = running.url.replace('0.0.0.0', '127.0.0.1');
  const ask: OpsHere['ask'] = (path, { method = 'GET', headers = {} } = {}) =>
    new Promise((resolve, reject) => {
      const call = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      call.on('error', reject);
      call.end();
    });
  return {
    url,
    log: lines,
    ask,
    async counted() {
      const [now] = await rowsOf<{ at: string }>(database.pool, 'select now()::text as at');
      const since = `select 1 from sendledger.census where counted_at - took_ms * interval '1 ms' > $1::timestamptz`;
      while ((await rowsOf(database.pool, since, [now?.at])).length === 0)
        await new Promise((resolve) => setTimeout(resolve, 25));
      await new Promise((resolve) => setTimeout(resolve, 1_050));
    },
    async series() {
      const { text } = await ask('/metrics');
      const found = new Map<string, number>();
      for (const [, name, labels = '', value] of text.matchAll(/^(sendledger_\w+)(?:\{(.*)\})? (\S+)$/gm)) {
        const sorted = labels
          .split(',')
          .filter((label) => label !== '' && !label.startsWith('app='))
          .sort();
        found.set(`${name}{${sorted.join(',')}}`, Number(value?.replace('Inf', 'Infinity')));
      }
      return found;
    },
    async stop() {
      await loop.stop();
      await running.rest?.(AbortSignal.timeout(5_000));
      await pool.end();
    },
  };
}
