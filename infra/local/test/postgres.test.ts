import { existsSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, dropDatabase, type EmbeddedPostgres, startPostgres, urlFor } from '../src/index.ts';
import { isRunning } from '../src/process-life.ts';

let postgres: EmbeddedPostgres;

beforeAll(async () => {
  postgres = await startPostgres({ only: 'embedded', settings: { work_mem: '7MB' } });
}, 60_000);

afterAll(() => postgres.stop());

async function ask(url: string, sql: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const answer = await client.query<string[]>({ text: sql, rowMode: 'array' });
    return String(answer.rows[0]?.[0]);
  } finally {
    await client.end();
  }
}

test('the server runs with our defaults and the settings asked for', async () => {
  expect(await ask(postgres.url, 'show server_version')).toMatch(/^18\./);
  expect(await ask(postgres.url, 'show max_connections')).toBe('300');
  expect(await ask(postgres.url, 'show fsync')).toBe('on');
  expect(await ask(postgres.url, 'show work_mem')).toBe('7MB');
  expect(await ask(postgres.url, 'select rolsuper from pg_roles where rolname = current_user')).toBe('true');
});

describe('urlFor', () => {
  test('the session of a role URL is that role, also after RESET ROLE', async () => {
    await ask(postgres.url, 'create role plain_role nologin');
    const url = urlFor(postgres.url, { role: 'plain_role' });
    expect(await ask(url, 'select current_user')).toBe('plain_role');
    expect(await ask(url, 'select session_user')).toBe('postgres');
    await expect(ask(url, 'create role another')).rejects.toThrow('permission denied');
  });

  test('a role name with a space, a quote and a backslash arrives whole', async () => {
    const role = 'odd "r\\ole';
    await ask(postgres.url, `create role ${pg.escapeIdentifier(role)} nologin`);
    expect(await ask(urlFor(postgres.url, { role }), 'select current_user')).toBe(role);
  });

  test('database and role change together and other parameters stay', async () => {
    const url = urlFor('postgres://u:p%40ss@127.0.0.1:1/one?sslmode=disable', { database: 'two', role: 'r' });
    expect(url).toBe('postgres://u:p%40ss@127.0.0.1:1/two?sslmode=disable&options=-c%20role%3Dr');
  });
});

test('a database is created from a template and dropped although a session is open', async () => {
  await createDatabase(postgres.url, 'mould');
  await ask(urlFor(postgres.url, { database: 'mould' }), 'create table t as select 42 as answer');
  await createDatabase(postgres.url, 'cast', { template: 'mould' });
  const url = urlFor(postgres.url, { database: 'cast' });
  expect(await ask(url, 'select answer from t')).toBe('42');

  const forgotten = new pg.Client({ connectionString: url });
  forgotten.on('error', () => undefined);
  await forgotten.connect();
  await dropDatabase(postgres.url, 'cast');
  await dropDatabase(postgres.url, 'cast');
  await expect(ask(url, 'select 1')).rejects.toMatchObject({ code: '3D000' });
  await dropDatabase(postgres.url, 'mould');
});

test('a crash loses what was not flushed and keeps what was; a restart has the same URL', async () => {
  await ask(postgres.url, 'create table kept (v int)');
  const client = new pg.Client({ connectionString: postgres.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  await client.query('insert into kept values (1)');
  const before = postgres.pid;
  await postgres.crash();
  expect(isRunning(before)).toBe(false);
  await postgres.restart();
  expect(postgres.pid).not.toBe(before);
  expect(await ask(postgres.url, 'select count(*) from kept')).toBe('0');
}, 60_000);

test('stop ends the server, removes its data, and may come twice or after a crash', async () => {
  const other = await startPostgres({ only: 'embedded' });
  await other.crash();
  await Promise.all([other.stop(), other.stop()]);
  expect(existsSync(other.dataDir)).toBe(false);
  await expect(other.restart()).rejects.toThrow('was stopped');
}, 60_000);

test('DATABASE_URL is used as it is and left alone', async () => {
  const before = process.env.DATABASE_URL;
  process.env.DATABASE_URL = postgres.url;
  try {
    const given = await startPostgres();
    expect(given).toMatchObject({ url: postgres.url, source: 'environment', dataDir: null, binDir: null });
    await given.stop();
    expect(isRunning(postgres.pid)).toBe(true);
  } finally {
    if (before === undefined) delete process.env.DATABASE_URL;
    else process.env.DATABASE_URL = before;
  }
});
