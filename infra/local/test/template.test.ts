import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withClient } from '../src/database.ts';
import { cloneTemplate, createTemplate, dropTemplate, type EmbeddedPostgres, startPostgres } from '../src/index.ts';

let postgres: EmbeddedPostgres;

beforeAll(async () => {
  postgres = await startPostgres({ only: 'embedded' });
}, 60_000);

afterAll(() => postgres.stop());

const migrate = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    await client.query('create table thing (id int)');
  });

const databases = (): Promise<string[]> =>
  withClient(postgres.url, async (client) => {
    const found = await client.query<{ datname: string }>('select datname from pg_database order by 1');
    return found.rows.map((row) => row.datname);
  });

test('clones are made side by side and are apart', async () => {
  await createTemplate(postgres.url, 'mould', migrate);
  const clones = await Promise.all(Array.from({ length: 8 }, () => cloneTemplate(postgres.url, 'mould')));
  for (const [index, { database }] of clones.entries()) {
    await database.pool.query('insert into thing values ($1)', [index]);
    expect((await database.pool.query('select id from thing')).rows).toEqual([{ id: index }]);
  }
  await Promise.all(clones.map(({ drop }) => drop()));
  expect(await databases()).toContain('mould');
  await dropTemplate(postgres.url, 'mould');
  expect(await databases()).toEqual(['postgres', 'template0', 'template1']);
}, 30_000);

test('a clone is dropped although a client was never released, and left clones go with the template', async () => {
  await createTemplate(postgres.url, 'mould', migrate);
  const { database, drop } = await cloneTemplate(postgres.url, 'mould');
  await database.pool.connect();
  await drop();
  const left = await cloneTemplate(postgres.url, 'mould');
  await left.database.pool.query('select 1');
  await dropTemplate(postgres.url, 'mould');
  expect(await databases()).toEqual(['postgres', 'template0', 'template1']);
}, 30_000);

test('a migration that leaves a connection open is refused by name', async () => {
  const forgotten: pg.Client[] = [];
  const careless = async (url: string): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('select 1 as careless');
    forgotten.push(client);
  };
  await expect(createTemplate(postgres.url, 'mould', careless)).rejects.toThrow(/1 connection\(s\) open.*careless/);
  expect(await databases()).not.toContain('mould');
}, 30_000);
