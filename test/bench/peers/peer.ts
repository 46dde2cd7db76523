import type pg from 'pg';

/** A job's content: about what a message needs. */
export type Payload = Readonly<Record<string, unknown>>;

/** Another queue on Postgres, on the same server and in the same run. */
export interface Peer {
  readonly name: string;
  /** In the caller's transaction, one job. */
  enqueueOne(tx: pg.ClientBase, payload: Payload): Promise<void>;
  /** In the caller's transaction, all in one call. */
  enqueueMany(tx: pg.ClientBase, payloads: readonly Payload[]): Promise<void>;
  /** Works off so many queued jobs that do nothing, as fast as it can, each completed on disk. */
  drain(count: number): Promise<void>;
  /** Works jobs off one by one, as they come; until `stop`. */
  listen(arrived: (payload: Payload) => void): Promise<void>;
  stop(): Promise<void>;
}

/** Some 300 bytes: a number, a sender and a text of 160 characters. */
export function payloadOf(i: number): Payload {
  return {
    tenant: 'shop',
    to: `+9198${String(10_000_000 + i)}`,
    sender: 'SHOPIN',
    class: 'transactional',
    event: `order-${i}`,
    text: textOf(i),
  };
}

export function textOf(i: number): string {
  return `Order ${i} is on its way and will be with you tomorrow between nine and eleven. `.padEnd(150, 'x');
}
