import type { Message } from '@sendledger/core';
import { createProducer, type EnqueueResult, type Producer } from '@sendledger/producer';
import pg from 'pg';
import { TENANT } from './house.ts';
import type { Happening, Order } from './shop-plan.ts';
import { ORDER_CODE, ORDER_PLACED, ORDER_REMINDER } from './shop-texts.ts';

/** What the shop knows of its own doing. */
export interface ShopCounts {
  /** Messages answered `created`. */
  created: number;
  /** Messages of events that were told before, answered `duplicate`. */
  repeated: number;
  rolledBack: number;
}

/** A payment that falls through after everything was written. */
class PaymentFailed extends Error {}

/**
 * The example application: a shop that writes its order and what the customer is told about it in one transaction. It logs in as
 * a role that may enqueue, and sees no message.
 */
export class Shop {
  readonly counts: ShopCounts = { created: 0, repeated: 0, rolledBack: 0 };
  readonly #pool: pg.Pool;
  readonly #producer: Producer;

  constructor(databaseUrl: string, redisUrl: string | null) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 4, application_name: 'example shop' });
    this.#pool.on('error', () => undefined);
    this.#producer = createProducer({ tenant: TENANT, redisUrl });
  }

  async run(happening: Happening): Promise<void> {
    switch (happening.kind) {
      case 'checkout':
        return this.#count(await this.#checkout(happening.orders, async () => undefined));
      case 'failed-checkout':
        try {
          await this.#checkout(happening.orders, async () => Promise.reject(new PaymentFailed()));
        } catch (error) {
          if (!(error instanceof PaymentFailed)) throw error;
          this.counts.rolledBack++;
        }
        return;
      case 'repeated-call':
        return this.#count(
          await this.#producer.transaction(this.#pool, (tx) => this.#enqueue(tx, happening.orders.map(placed))),
        );
      case 'announcement':
        return this.#count(
          await this.#producer.transaction(this.#pool, async (tx) => {
            await tx.query('insert into shop.announced (announcement_id, phone) select $1, unnest($2::text[])', [
              happening.id,
              happening.phones,
            ]);
            return this.#enqueue(tx, [
              {
                class: 'promotional',
                to: happening.phones,
                event: { type: 'sale.announced', id: happening.id },
                body: happening.text,
              },
            ]);
          }),
        );
    }
  }

  async close(): Promise<void> {
    await this.#producer.close();
    await this.#pool.end();
  }

  /** The order, and what is said about it: both or neither. Enqueued last and in one call, as the producer's guide asks. */
  #checkout(orders: readonly Order[], pay: () => Promise<void>): Promise<readonly EnqueueResult[]> {
    return this.#producer.transaction(this.#pool, async (tx) => {
      for (const order of orders)
        await tx.query(
          'insert into shop.orders (id, phone, total, code_asked, reminders) values ($1, $2, $3, $4, $5)',
          [order.id, order.phone, order.total, order.code !== null, order.reminders],
        );
      const results = await this.#enqueue(
        tx,
        orders.flatMap((order) => [placed(order), ...code(order), ...reminders(order)]),
      );
      await pay();
      return results;
    });
  }

  async #enqueue(tx: pg.PoolClient, messages: readonly Message[]): Promise<readonly EnqueueResult[]> {
    return (await this.#producer.enqueue(tx, messages)).results;
  }

  #count(results: readonly EnqueueResult[]): void {
    for (const { answer } of results) {
      if (answer === 'created') this.counts.created++;
      if (answer === 'duplicate') this.counts.repeated++;
    }
  }
}

function placed(order: Order): Message {
  return {
    class: 'transactional',
    to: order.phone,
    event: { type: 'order.placed', id: order.id },
    template: { id: ORDER_PLACED, params: { name: order.name, order: order.id, total: order.total } },
  };
}

function code(order: Order): Message[] {
  if (order.code === null) return [];
  return [
    {
      class: 'otp',
      to: order.phone,
      event: { type: 'order.code', id: order.id },
      template: { id: ORDER_CODE, params: { code: order.code, order: order.id } },
    },
  ];
}

/** One event that speaks twice: the step makes two keys of it. The ledger keeps each until it is due. */
function reminders(order: Order): Message[] {
  return Array.from({ length: order.reminders }, (_, i) => ({
    class: 'transactional' as const,
    to: order.phone,
    event: { type: 'order.reminder', id: order.id },
    key: { step: `reminder-${i + 1}` },
    template: { id: ORDER_REMINDER, params: { order: order.id, step: String(i + 1) } },
    scheduledFor: new Date(Date.now() + 1_000 * (i + 1)),
  }));
}
