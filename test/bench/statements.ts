import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LocalPostgres, urlFor } from '@sendledger/local';
import pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { say } from './report.ts';

/** Settings of a server that counts its statements. */
export const COUNTS_STATEMENTS = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all' };

const MOST = 40;

/**
 * Writes, before the server stops, which statements took the longest. A server that was given and does not count them is left as it is,
 * and a line says so.
 */
export async function keepStatements(postgres: LocalPostgres, folder: string, cleanup: Cleanup): Promise<void> {
  const client = new pg.Client({ connectionString: urlFor(postgres.url, { database: 'postgres' }) });
  client.on('error', () => undefined);
  await client.connect();
  cleanup.add('close the connection that counts statements', () => client.end());
  try {
    if (postgres.source !== 'environment') await client.query('create extension if not exists pg_stat_statements');
    await client.query('select 1 from pg_stat_statements limit 1');
  } catch {
    say('no statements are written: this server has no pg_stat_statements');
    return;
  }
  cleanup.add('write the statements', async () => {
    const { rows } = await client.query<Counted>(
      `select calls::float8, total_exec_time as ms, mean_exec_time as mean, rows::float8, (shared_blks_hit + shared_blks_read)::float8 as buffers,
         wal_bytes::float8 as wal, query
       from pg_stat_statements where query !~* '^(begin|commit|rollback|create|alter|set)' order by total_exec_time desc limit ${MOST}`,
    );
    await writeFile(join(folder, `statements-${Date.now()}.md`), tableOf(rows));
  });
}

interface Counted {
  readonly calls: number;
  readonly ms: number;
  readonly mean: number;
  readonly rows: number;
  readonly buffers: number;
  readonly wal: number;
  readonly query: string;
}

/** Statements inside of functions are rows of their own, and part of the row of the statement that called them. */
function tableOf(rows: readonly Counted[]): string {
  const lines = rows.map((row) => {
    const per = (total: number) => Math.round((total / row.calls) * 10) / 10;
    const query = row.query.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 300);
    return `| ${row.calls} | ${Math.round(row.ms)} | ${row.mean.toFixed(3)} | ${per(row.rows)} | ${per(row.buffers)} | ${per(row.wal)} | \`${query}\` |`;
  });
  return [
    '| calls | ms in all | ms a call | rows a call | buffers a call | WAL bytes a call | statement |',
    '| ---: | ---: | ---: | ---: | ---: | ---: | --- |',
    ...lines,
    '',
  ].join('\n');
}
