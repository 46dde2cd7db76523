import { randomUUID } from 'node:crypto';
import type { MessageClass, MessageState } from '@sendledger/core';
import { addRate, addRoute, addTemplate, ledgerSummary, rowsOf } from '@sendledger/core/ledger';
import type { TestDatabase } from '@sendledger/local';
import { createProducer } from '@sendledger/producer';

/** Of one-time passwords, whose text the test gives. */
export const CODE_TEMPLATE = { template_id: 'code', template_version: '1' } as const;

/** A route to the simulated provider at the simulator's price, and the template of one-time passwords. */
export async function furnish(
  database: TestDatabase,
  options: { maxBatch?: number; readsPerMinute?: string } = {},
): Promise<string> {
  const { id } = await addRoute(database.pool, {
    name: 'main',
    provider: 'smsgatewaycenter',
    account: 'default',
    channel: 'sms',
    maxBatch: options.maxBatch ?? 1,
    encodingRule: 'ascii',
    providerZone: 'Asia/Kolkata',
    defaultSenderId: 'SHOPIN',
    senderRequired: true,
    nationalDigits: 10,
    ...(options.readsPerMinute === undefined ? {} : { readsPerMinute: options.readsPerMinute }),
  });
  await addRate(database.pool, {
    routeId: id,
    priceKey: '*',
    currency: 'INR',
    price: '0.1200',
    validFrom: new Date('2020-01-01T00:00:00Z'),
    validTo: null,
  });
  await addTemplate(database.pool, {
    id: CODE_TEMPLATE.template_id,
    version: CODE_TEMPLATE.template_version,
    channel: 'sms',
    messageClass: 'otp',
    body: '{{text}}',
    variables: [{ name: 'text', secret: true }],
    senderId: null,
    dltEntityId: null,
    dltTemplateId: null,
  });
  return id;
}

/** `count` messages to as many numbers, through the producer, in one transaction. */
export async function enqueueMany(
  database: TestDatabase,
  count: number,
  message: { class?: MessageClass; body?: (i: number) => string; from?: number } = {},
): Promise<void> {
  const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN' });
  const first = message.from ?? 0;
  const messages = Array.from({ length: count }, (_, i) => {
    const text = message.body?.(first + i) ?? `Order ${first + i} is ready`;
    return {
      class: message.class ?? ('transactional' as const),
      to: `+9198${String(10_000_000 + first + i)}`,
      event: { type: 'order', id: `order-${first + i}-${randomUUID()}` },
      ...(message.class === 'otp' ? { template: { id: CODE_TEMPLATE.template_id, params: { text } } } : { body: text }),
    };
  });
  await producer.transaction(database.pool, (tx) => producer.enqueue(tx, messages));
  await producer.close();
}

export async function statesOf(database: TestDatabase): Promise<Partial<Record<MessageState, number>>> {
  const { states } = await ledgerSummary(database.pool, new Date(0));
  return Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0));
}

/** Rows that can still move. */
export async function openRows(database: TestDatabase): Promise<number> {
  const [row] = await rowsOf<{ n: string }>(
    database.pool,
    `select count(*)::text as n from sendledger.outbound_message where state in ('pending', 'claimed', 'retry', 'submitted')`,
  );
  return Number(row?.n);
}

export const urls = (database: TestDatabase) => ({
  claim: database.urlFor('sendledger_claim'),
  submit: database.urlFor('sendledger_submit'),
  reconcile: database.urlFor('sendledger_reconcile'),
  backfill: database.urlFor('sendledger_backfill'),
  ops: database.urlFor('sendledger_ops'),
});
