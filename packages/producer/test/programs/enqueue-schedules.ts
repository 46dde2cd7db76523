import pg from 'pg';
import { createProducer } from '../../src/index.ts';
import { SCHEDULES } from '../schedules.ts';

/** Enqueues the schedules of the test by the clock this process is started with, on a connection in the zone that is named. */
const [url = '', route = '', prefix = '', zone = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 1 });
const producer = createProducer({ tenant: 'shop' });
await producer.transaction(pool, async (tx) => {
  await tx.query(`select set_config('timezone', $1, false)`, [zone]);
  await producer.enqueue(
    tx,
    SCHEDULES.map((schedule, i) => ({
      class: 'promotional' as const,
      to: '+919876543210',
      route,
      event: { type: 'scheduled', id: `${prefix}-${i}` },
      body: 'A reminder.',
      ...schedule,
    })),
  );
});
// What this process itself takes a time without an offset for: it must not matter, and it must differ.
process.stdout.write(new Date('2027-01-10T09:00:00').toISOString());
await pool.end();
await producer.close();
