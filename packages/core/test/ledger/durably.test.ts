import { randomBytes } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { durably, rowsOf, type Sql } from '../../src/ledger/index.ts';
import { scene } from './scene.ts';

const setting = async (pool: pg.Pool) =>
  durably(pool, async (sql) => rowsOf(sql, `select current_setting('synchronous_commit') as value`));

describe('synchronous_commit inside durably()', () => {
  for (const [byDefault, inside] of [
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ] as const)
    test(`a role whose default is ${byDefault}: ${inside}`, async ({ database }) => {
      const role = `sendledger_test_${randomBytes(6).toString('hex')}`;
      await database.pool.query(`create role ${role} login superuser`);
      await database.pool.query(`alter role ${role} set synchronous_commit = ${byDefault}`);
      // A role's default holds for the sessions that log in as it.
      const url = new URL(database.url);
      const password = randomBytes(8).toString('hex');
      await database.pool.query(`alter role ${role} password '${password}'`);
      url.username = role;
      url.password = password;
      const pool = new pg.Pool({ connectionString: url.href, max: 1 });
      try {
        expect(await rowsOf(pool, `select current_setting('synchronous_commit') as value`)).toEqual([
          { value: byDefault },
        ]);
        expect(await setting(pool)).toEqual([{ value: inside }]);
        // The mark says it itself: it is a transaction of its own, or within one.
        const client = await pool.connect();
        await client.query('begin');
        await client.query(`select from sendledger.mark_next(0, 'otp', 1, 'test', 0, 1000, null)`);
        expect(await rowsOf(client, `select current_setting('synchronous_commit') as value`)).toEqual([
          { value: inside },
        ]);
        await client.query('rollback');
        client.release();
        // Only for that one transaction: the session keeps what it had.
        expect(await rowsOf(pool, `select current_setting('synchronous_commit') as value`)).toEqual([
          { value: byDefault },
        ]);
      } finally {
        await pool.end();
        await database.pool.query(`drop role ${role}`);
      }
    });
});

test('JIT is off inside durably(), and outside it is what it was', async ({ database: { pool } }) => {
  const jit = (sql: Sql) => rowsOf(sql, `select current_setting('jit') as jit`);
  const client = await pool.connect();
  const one = Object.assign(Object.create(pool) as pg.Pool, { connect: async () => client });
  const release = client.release;
  client.release = () => undefined;
  try {
    await client.query('set jit = on');
    expect(await durably(one, jit)).toEqual([{ jit: 'off' }]);
    expect(await jit(client)).toEqual([{ jit: 'on' }]);
  } finally {
    client.release = release;
    client.release();
  }
});

describe('the end of durably()', () => {
  test('an error rolls back and is handed on', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const boom = new Error('boom');
    await expect(
      durably(pool, async (sql) => {
        await sql.query('update sendledger.route set paused_at = now() where id = $1', [s.routeId]);
        throw boom;
      }),
    ).rejects.toBe(boom);
    expect(await rowsOf(pool, 'select paused_at from sendledger.route where id = $1', [s.routeId])).toEqual([
      { paused_at: null },
    ]);
  });

  test('a failed statement that was swallowed does not pass for a commit', async ({ database: { pool } }) => {
    await expect(
      durably(pool, async (sql) => {
        await sql.query('select 1/0').catch(() => undefined);
        return 'done';
      }),
    ).rejects.toMatchObject({ code: 'SENDLEDGER_COMMIT_ROLLED_BACK' });
    // The connection is whole again.
    expect(await durably(pool, (sql) => rowsOf(sql, 'select 1 as one'))).toEqual([{ one: 1 }]);
  });

  test('a connection that broke is not handed out again', async ({ database: { url, pool } }) => {
    const small = new pg.Pool({ connectionString: url, max: 1 });
    small.on('error', () => undefined);
    try {
      await expect(
        durably(small, async (sql) => {
          const [me] = await rowsOf<{ pid: number }>(sql, 'select pg_backend_pid() as pid');
          await pool.query('select pg_terminate_backend($1)', [me?.pid]);
          await sql.query('select 1');
        }),
      ).rejects.toThrow();
      expect(await durably(small, (sql) => rowsOf(sql, 'select 1 as one'))).toEqual([{ one: 1 }]);
    } finally {
      await small.end();
    }
  });
});
