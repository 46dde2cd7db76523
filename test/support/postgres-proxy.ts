import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Names that `prepared` of the ledger gives, as the protocol's Parse carries them: name, zero, text, zero. */
const PARSE = /(sl_[0-9a-f]{24})\0([^\0]+)\0/g;

/** The server waits for the next statement, and is in no transaction. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');

/** A way to Postgres on which the answer to a commit can be held. */
export interface PostgresProxy {
  /** The given URL, through the proxy. */
  through(url: string): string;
  /** From the next commit after `when` was seen in a query on, the server's answers on that connection are held. */
  holdCommitAfter(when: string): void;
  /** The same of a statement that commits by itself: the answer to the next one with this text. */
  holdAnswerTo(text: string): void;
  /** Resolves when such a commit has been answered by the server and its answer is held. */
  readonly held: Promise<void>;
  release(): void;
  close(): Promise<void>;
}

/**
 * Holds a process between its mark and its first byte: the commit of the mark is on disk, and its answer does not arrive.
 * Bytes are looked at and never changed; the connections of tests are not encrypted.
 */
export async function startPostgresProxy(target: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let wanted: string | undefined;
  let byItself = false;
  let heldNow: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    heldNow = resolve;
  });
  const withheld: { to: Socket; chunks: Buffer[] }[] = [];
  /** A prepared statement travels with its text once a connection, and by its name alone ever after. */
  const namedTexts = new Map<string, string>();

  const says = (text: string, what: string) =>
    text.includes(what) ||
    [...namedTexts].some(([name, statement]) => statement.includes(what) && text.includes(`${name}\0`));

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let armed = false;
    let holding: Buffer[] | undefined;
    client.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      for (const [, name, statement] of text.matchAll(PARSE)) namedTexts.set(`${name}`, `${statement}`);
      if (wanted !== undefined && says(text, wanted)) armed = true;
      if (armed && (byItself || text.includes('commit'))) {
        armed = false;
        wanted = undefined;
        holding = [];
        withheld.push({ to: client, chunks: holding });
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (holding === undefined) {
        client.write(chunk);
        return;
      }
      holding.push(chunk);
      if (chunk.includes(READY)) heldNow?.();
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    releases.push(() => {
      holding = undefined;
    });
  });
  const releases: (() => void)[] = [];
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = (server.address() as AddressInfo).port;

  return {
    through: (url) => {
      const changed = new URL(url);
      changed.hostname = '127.0.0.1';
      changed.port = String(own);
      return changed.href;
    },
    holdCommitAfter: (when) => {
      [wanted, byItself] = [when, false];
    },
    holdAnswerTo: (text) => {
      [wanted, byItself] = [text, true];
    },
    held,
    release: () => {
      for (const release of releases) release();
      for (const { to, chunks } of withheld) for (const chunk of chunks) to.write(chunk);
      withheld.length = 0;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
