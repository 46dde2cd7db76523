import { rowsOf } from '@sendledger/core/ledger';
import type pg from 'pg';

/**
 * Pages of our tables and their indexes that `work` touched, in the cache or not, triggers included. Free of the noise that times have.
 *
 * @param pool of one connection, through which all of `work` goes; nobody else may touch these tables meanwhile, autovacuum included
 */
export async function buffersOf<T>(pool: pg.Pool, work: () => Promise<T>): Promise<{ result: T; buffers: number }> {
  const before = await pagesTouched(pool);
  const result = await work();
  return { result, buffers: (await pagesTouched(pool)) - before };
}

async function pagesTouched(pool: pg.Pool): Promise<number> {
  // Counters lie in the session until it has been idle for a while, unless it is told.
  await pool.query('select pg_stat_force_next_flush()');
  const [row] = await rowsOf<{ pages: number }>(
    pool,
    `select sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0)
       + coalesce(toast_blks_hit, 0) + coalesce(toast_blks_read, 0))::float8 as pages
     from pg_statio_user_tables where schemaname = 'sendledger'`,
  );
  return row?.pages ?? Number.NaN;
}

/** Vacuum and statistics of the ledger's big tables are left to the bench: what they do meanwhile is nobody's measure. */
export async function withoutAutovacuum(pool: pg.Pool): Promise<void> {
  const leaves = await rowsOf<{ name: string }>(
    pool,
    `select i.inhrelid::regclass::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where c.relkind = 'r' and i.inhparent in ('sendledger.outbound_message'::regclass, 'sendledger.submission'::regclass,
       'sendledger.delivery_receipt'::regclass)
     union all select 'sendledger.provider_message'`,
  );
  for (const { name } of leaves) await pool.query(`alter table ${name} set (autovacuum_enabled = off)`);
}
