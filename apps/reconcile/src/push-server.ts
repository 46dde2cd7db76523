import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream/promises';
import { at } from '@sendledger/core/points';
import type { Adapter } from '@sendledger/gateway';
import { Counter, type Registry } from '@sendledger/worker';
import type { PushIntake } from './push-intake.ts';
import { isSameSecret, readPushPath } from './push-path.ts';
import { readBody } from './read-body.ts';

export interface PushServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** The last part of the path; at least 32 characters of `A-Z a-z 0-9 _ -`. */
  readonly secret: string;
  /** Longest body that is read, bytes. */
  readonly bodyLimit: number;
  /** How long a client may take; default {@link PATIENCE}. */
  readonly patience?: Patience;
}

/** All in ms. */
export interface Patience {
  /** From the connection, or the request before, to the end of the headers. */
  readonly headers: number;
  /** To the end of the body. */
  readonly request: number;
  /** Between two requests of a connection. */
  readonly idle: number;
  /** How often the first two are looked at. */
  readonly check: number;
}

const PATIENCE: Patience = { headers: 10_000, request: 15_000, idle: 65_000, check: 2_000 };
/** Bounds the memory of bodies that are being read. A connection beyond is closed at once. */
const MOST_CONNECTIONS = 256;
const METHODS: ReadonlySet<string | undefined> = new Set(['POST', 'GET', 'HEAD']);

type PushAnswered = 'stored' | 'unreadable' | 'refused' | 'unavailable';
const STATUS: Readonly<Record<Exclude<PushAnswered, 'refused'>, number>> = {
  stored: 200,
  unreadable: 200,
  unavailable: 503,
};

/**
 * Where a provider pushes receipts to. Nothing in an answer says more than its status. A wrong path, secret and account look alike
 * from outside: an empty 404.
 */
export class PushServer {
  readonly #server: Server;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #intake: Pick<PushIntake, 'take' | 'tooLong'>;
  readonly #options: PushServerOptions;
  readonly #answers: Counter<'answer'>;
  readonly #reading = new Set<IncomingMessage>();
  readonly #serving = new Set<Promise<void>>();
  #closing = false;

  /** @param adapters by `provider/account`. */
  constructor(
    registry: Registry,
    adapters: ReadonlyMap<string, Adapter>,
    intake: Pick<PushIntake, 'take' | 'tooLong'>,
    options: PushServerOptions,
  ) {
    this.#adapters = adapters;
    this.#intake = intake;
    this.#options = options;
    this.#answers = new Counter({
      name: 'sendledger_pushes_total',
      help: 'Pushes by what became of them.',
      labelNames: ['answer'],
      registers: [registry],
    });
    for (const answer of ['stored', 'unreadable', 'refused', 'unavailable'] satisfies PushAnswered[])
      this.#answers.inc({ answer }, 0);
    const { headers, request, idle, check } = options.patience ?? PATIENCE;
    this.#server = createServer(
      { headersTimeout: headers, requestTimeout: request, keepAliveTimeout: idle, connectionsCheckingInterval: check },
      (incoming, response) => {
        const serving = this.#serve(incoming, response);
        this.#serving.add(serving);
        void serving.finally(() => this.#serving.delete(serving));
      },
    );
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /**
   * Answers host and port as a URL, without the path.
   * @throws the system's error for a port that is taken.
   */
  async listen(): Promise<string> {
    const { host, port } = this.#options;
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    const at = this.#server.address() as AddressInfo;
    return `http://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}`;
  }

  /** Takes no more, and resolves when what was taken is on disk and answered. */
  async close(): Promise<void> {
    this.#closing = true;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const request of this.#reading) request.destroy();
    while (this.#serving.size > 0) await Promise.all(this.#serving);
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = readPushPath(request.url ?? '');
    const adapter = path === null ? undefined : this.#adapters.get(`${path.provider}/${path.account}`);
    // Compared whether or not the rest is right, so that the time tells nothing about it.
    const isRight = isSameSecret(path?.secret ?? '', this.#options.secret);
    if (path === null || adapter === undefined || !isRight || !METHODS.has(request.method))
      return this.#answer(response, 'refused', 404);

    this.#reading.add(request);
    const body = await readBody(request, this.#options.bodyLimit);
    this.#reading.delete(request);
    if (body === 'gone') return;
    if (body === 'too_long') {
      this.#intake.tooLong(path.account, adapter);
      return this.#answer(response, 'refused', 413);
    }
    await at('push: before it is stored');
    const result = await this.#intake.take(path.account, adapter, {
      contentType: request.headers['content-type'] ?? null,
      query: path.query,
      body,
    });
    await at('push: before its answer');
    return this.#answer(response, result, STATUS[result]);
  }

  async #answer(response: ServerResponse, answer: PushAnswered, status: number): Promise<void> {
    this.#answers.inc({ answer });
    response.statusCode = status;
    response.setHeader('content-length', 0);
    // What was refused has perhaps more to send, which nobody will read.
    if (answer === 'refused' || this.#closing) response.setHeader('connection', 'close');
    response.end();
    try {
      await finished(response);
    } catch {
      // The client left; what it pushed is where it belongs.
    }
  }
}
