import pg from 'pg';
import { createProducer } from '../../src/index.ts';
import { message } from '../message-builder.ts';

/**
 * Loses the connection inside of `transaction()`, in a process of its own: an error event that nobody hears ends the process,
 * and no test inside the runner would see that. Prints what became of the call and of the next one.
 */
const [url = '', route = '', when = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 1 });
const killer = new pg.Client({ connectionString: url });
await killer.connect();
const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN', redisUrl: null });
const lost = message({ route });
const next = message({ route });

const pidOf = async (tx: pg.PoolClient) => (await tx.query('select pg_backend_pid() as pid')).rows[0].pid as number;
const kill = (pid: number) => killer.query('select pg_terminate_backend($1)', [pid]);
/** Not `once` of node:events: that hears errors too, and would hide that nobody else does. */
const gone = (tx: pg.PoolClient) => new Promise<void>((resolve) => tx.once('end', resolve));

const works: Readonly<Record<string, (tx: pg.PoolClient) => Promise<unknown>>> = {
  'while it is idle': async (tx) => {
    const end = gone(tx);
    await kill(await pidOf(tx));
    await end;
  },
  'while it is idle, and is used again': async (tx) => {
    const end = gone(tx);
    await kill(await pidOf(tx));
    await end;
    await tx.query('select 1');
  },
  'in a statement': (tx) => tx.query('select pg_terminate_backend(pg_backend_pid())'),
  'in a statement whose error is swallowed': (tx) =>
    tx.query('select pg_terminate_backend(pg_backend_pid())').catch(() => undefined),
  'after an enqueue that is not waited for': async (tx) => {
    const pid = await pidOf(tx);
    const [enqueued] = await Promise.allSettled([producer.enqueue(tx, message({ route })), kill(pid)]);
    if (enqueued.status === 'rejected') throw enqueued.reason;
    await tx.query('select pg_sleep(60)');
  },
};
const work = works[when];
if (work === undefined) throw new Error(`no such way: ${when}`);

const answer = await producer
  .transaction(pool, async (tx) => {
    await producer.enqueue(tx, lost);
    await work(tx);
  })
  .then(
    () => 'fulfilled',
    (error: unknown) => (error instanceof Error ? 'rejected' : 'rejected with no error'),
  );
// The pool has room for one: were the broken client still in it, this would fail or wait for ever.
const { results } = await producer.transaction(pool, (tx) => producer.enqueue(tx, next));
process.stdout.write(
  JSON.stringify({
    answer,
    next: results[0]?.answer,
    lost: lost.event.id,
    kept: next.event.id,
    clients: pool.totalCount,
  }),
);
await pool.end();
await killer.end();
