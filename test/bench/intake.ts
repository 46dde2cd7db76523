import { randomInt, randomUUID } from 'node:crypto';
import type { Message } from '@sendledger/core';
import { createProducer, type Producer } from '@sendledger/producer';
import type pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { CODE_TEMPLATE } from './house.ts';

/** When the commit of a message's transaction had returned, by the wall clock of this host. */
export interface Committed {
  /** With country code, as the provider's books have it. */
  readonly mobile: string;
  readonly atMs: number;
}

const ROWS_A_TRANSACTION = 1_000;

/** The applications: each message in a transaction of its own tenant, as the producer library does it. */
export class Intake {
  readonly #pool: pg.Pool;
  readonly #producer: Producer;
  #next = 10_000_000;

  constructor(pool: pg.Pool, redisUrl: string, cleanup: Cleanup) {
    this.#pool = pool;
    this.#producer = createProducer({ redisUrl, defaultRegion: 'IN' });
    cleanup.add('close the producer', () => this.#producer.close());
  }

  code(): Promise<Committed> {
    const params = { code: String(randomInt(100_000, 1_000_000)) };
    return this.#one({ tenant: 'bank', class: 'otp', template: { id: CODE_TEMPLATE, params } });
  }

  order(): Promise<Committed> {
    return this.#one({ tenant: 'shop', class: 'transactional', body: `Order ${this.#next} is ready` });
  }

  /** @param sameText whether all have the same text, so that they may share requests */
  async promotions(count: number, sameText: boolean): Promise<void> {
    for (let done = 0; done < count; done += ROWS_A_TRANSACTION) {
      const messages = Array.from({ length: Math.min(ROWS_A_TRANSACTION, count - done) }, () => {
        const mobile = this.#mobile();
        const body = sameText ? 'Sale today, 20 percent off' : `Sale today, your voucher is ${mobile.slice(-8)}`;
        return this.#message({ tenant: 'campaigner', class: 'promotional', body }, mobile);
      });
      await this.#producer.transaction(this.#pool, (tx) => this.#producer.enqueue(tx, messages));
    }
  }

  async #one(message: Pick<Message, 'tenant' | 'class' | 'body' | 'template'>): Promise<Committed> {
    const mobile = this.#mobile();
    const client = await this.#pool.connect();
    let atMs: number;
    let reply: Awaited<ReturnType<Producer['enqueue']>>;
    try {
      await client.query('begin');
      reply = await this.#producer.enqueue(client, this.#message(message, mobile));
      await client.query('commit');
      atMs = Date.now();
    } finally {
      client.release();
    }
    void reply.wake();
    return { mobile, atMs };
  }

  #message(message: Pick<Message, 'tenant' | 'class' | 'body' | 'template'>, mobile: string): Message {
    return { ...message, to: `+${mobile}`, event: { type: 'bench', id: randomUUID() } };
  }

  #mobile(): string {
    return `9198${this.#next++}`;
  }
}

/** Calls `work` at a steady pace, whether the one before has ended or not, and answers when all have. */
export async function atPace<T>(everyMs: number, count: number, work: () => Promise<T>): Promise<T[]> {
  const begun: Promise<T>[] = [];
  const startedMs = performance.now();
  for (let i = 0; i < count; i++) {
    const pauseMs = startedMs + i * everyMs - performance.now();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    begun.push(work());
  }
  return Promise.all(begun);
}
