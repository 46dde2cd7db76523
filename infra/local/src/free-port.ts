import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range that operating systems give to outgoing connections (32768 and up on Linux, 49152 on macOS). A client
// that keeps dialling a stopped server inside that range can connect to itself and then holds the server's port.
const FIRST_PORT = 15_000;
const LAST_PORT = 29_999;
const TRIES = 200;

/**
 * A TCP port on 127.0.0.1 that nobody listens on at this moment. Another process may take it before the caller does, so
 * callers bind at once and ask again when that fails.
 * @throws Error when 200 random ports were all taken.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT} was found in ${TRIES} tries`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
