import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { MessageClass } from '../../src/domain/state.ts';
import { registerWorker, rowsOf, type WorkerIdentity } from '../../src/ledger/index.ts';

export interface Scene {
  readonly name: string;
  readonly routeId: string;
  readonly worker: WorkerIdentity;
  readonly environment: string;
}

/** A route with its lanes, a rate and a registered worker: what a statement needs to have something to do. */
export async function scene(
  pool: pg.Pool,
  route: { name?: string; maxBatch?: number; encodingRule?: 'gsm7' | 'ascii'; rate?: boolean } = {},
): Promise<Scene> {
  const name = route.name ?? `route-${randomUUID().slice(0, 13)}`;
  const [made] = await rowsOf<{ id: string }>(
    pool,
    `insert into sendledger.route (name, provider, account, channel, encoding_rule, max_batch)
     values ($1, 'smsgatewaycenter', 'default', 'sms', $2, $3) returning id`,
    [name, route.encodingRule ?? 'gsm7', route.maxBatch ?? 500],
  );
  const routeId = made?.id ?? '';
  await pool.query(
    `insert into sendledger.lane (route_id, message_class, submit_within, receipt_within)
     select $1, c, '1 hour', '1 day' from unnest(enum_range(null::sendledger.message_class)) c`,
    [routeId],
  );
  if (route.rate !== false)
    await pool.query(
      `insert into sendledger.rate_card (route_id, price_key, currency, price, valid)
       values ($1, '*', 'INR', 0.1225, tstzrange('2020-01-01Z', null))`,
      [routeId],
    );
  await registerCodeTemplate(pool);
  const worker = await registerWorker(pool, 'test', `test-${randomUUID()}`);
  return { name, routeId, worker, environment: 'test' };
}

/** What a one-time password names: without a registered template of its class it is refused. Its content is the test's. */
export const CODE_TEMPLATE = { template_id: 'code', template_version: '1' } as const;

export async function registerCodeTemplate(pool: Pick<pg.Pool, 'query'>): Promise<void> {
  await pool.query(
    `insert into sendledger.message_template (template_id, version, channel, message_class, body, variables)
     values ($1, $2, 'sms', 'otp', '{{text}}', '[{"name": "text", "secret": true}]') on conflict do nothing`,
    Object.values(CODE_TEMPLATE),
  );
}

export interface EnqueuedRow {
  readonly id: string;
  readonly createdAt: Date;
}

/** Enqueues through the SQL function, as any language would. */
export async function enqueue(
  pool: pg.Pool | pg.PoolClient,
  messages: readonly {
    recipient?: string;
    body?: string;
    event?: string;
    messageClass?: MessageClass;
    route?: string;
    submitBy?: string;
    tenant?: string;
    /** Further fields of a prepared message, as the function takes them. */
    more?: Readonly<Record<string, unknown>>;
  }[],
): Promise<EnqueuedRow[]> {
  const rows = await rowsOf<{ answer: string; message_id: string; message_created_at: string; field: string }>(
    pool,
    'select * from sendledger.enqueue($1::json)',
    [
      JSON.stringify(
        messages.map((m) => ({
          tenant_id: m.tenant ?? 'shop',
          channel: 'sms',
          message_class: m.messageClass ?? 'transactional',
          ...(m.messageClass === 'otp' ? CODE_TEMPLATE : {}),
          recipient: m.recipient ?? '919999999999',
          country: 'IN',
          event_type: 'order',
          event_id: m.event ?? randomUUID(),
          body: m.body ?? 'Your order is ready',
          encoding: 'GSM7',
          segments: '1',
          route: m.route,
          submit_by: m.submitBy,
          ...m.more,
        })),
      ),
    ],
  );
  return rows.map((row) => {
    if (row.answer !== 'created') throw new Error(`enqueue answered ${row.answer}: ${row.field}`);
    return { id: row.message_id, createdAt: new Date(row.message_created_at) };
  });
}

export async function stateOf(pool: pg.Pool, id: string): Promise<string> {
  const [row] = await rowsOf<{ state: string }>(pool, 'select state from sendledger.outbound_message where id = $1', [
    id,
  ]);
  return row?.state ?? 'absent';
}
