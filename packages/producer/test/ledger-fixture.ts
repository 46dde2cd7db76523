import { randomUUID } from 'node:crypto';
import type { Message } from '@sendledger/core';
import pg from 'pg';

/** A route with its lanes and a template, under names of their own, so that tests in one database do not meet. */
export async function aRoute(pool: pg.Pool): Promise<{ route: string; routeId: string }> {
  const route = `route-${randomUUID()}`;
  const { rows } = await pool.query<{ id: string }>(
    `insert into sendledger.route (name, provider, channel, account) values ($1, 'sim', 'sms', $1) returning id`,
    [route],
  );
  const routeId = String(rows[0]?.id);
  await pool.query(
    `insert into sendledger.lane (route_id, message_class, submit_within, receipt_within)
     select $1, c, interval '1 hour', interval '1 day' from unnest(enum_range(null::sendledger.message_class)) c`,
    [routeId],
  );
  return { route, routeId };
}

/** A message of a registered template for one-time passwords, which takes the whole text as its variable. */
export async function aCode(pool: pg.Pool, text: string): Promise<Pick<Message, 'class' | 'body' | 'template'>> {
  await pool.query(
    `insert into sendledger.message_template (template_id, version, channel, message_class, body, variables)
     values ('code', 1, 'sms', 'otp', '{{text}}', '[{"name":"text","secret":true}]') on conflict do nothing`,
  );
  return { class: 'otp', body: undefined, template: { id: 'code', params: { text } } };
}

export async function bodiesOf(pool: pg.Pool, eventId: string): Promise<string[]> {
  const { rows } = await pool.query<{ body: string }>(
    'select body from sendledger.outbound_message where event_id = $1 order by id',
    [eventId],
  );
  return rows.map((row) => row.body);
}

/** A client of its own connection, in a transaction. */
export async function begun(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  return client;
}
