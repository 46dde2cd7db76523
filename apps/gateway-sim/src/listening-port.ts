import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A port that can be shut for a while, so that clients are refused, and opened again under the same number. */
export class ListeningPort {
  readonly #server: Server;
  readonly #address: { port: number; host: string };
  readonly #sockets: ReadonlySet<Socket>;
  // One after the other: a port cannot be opened while it is being closed.
  #turn: Promise<unknown> = Promise.resolve();
  readonly #ended = new AbortController();

  /** @param server listens already; @param sockets its open connections. */
  constructor(server: Server, address: { port: number; host: string }, sockets: ReadonlySet<Socket>) {
    this.#server = server;
    this.#address = address;
    this.#sockets = sockets;
  }

  /** Stops listening and cuts every connection. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#server.listening) return;
      const closed = once(this.#server, 'close');
      this.#server.close();
      for (const socket of this.#sockets) socket.destroy();
      await closed;
    });
  }

  /** Listens again. @throws the system's error when somebody else has taken the port meanwhile. */
  open(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#server.listening || this.#ended.signal.aborted) return;
      const listening = once(this.#server, 'listening');
      this.#server.listen(this.#address);
      await listening;
    });
  }

  /** Closes the port, and opens it after this many milliseconds. */
  async closeFor(ms: number): Promise<void> {
    await this.close();
    await sleep(ms, undefined, { signal: this.#ended.signal }).catch(() => undefined);
    await this.open();
  }

  /** The simulator closes: the port is not opened any more. Resolves when no opening or closing is under way. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#turn;
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
