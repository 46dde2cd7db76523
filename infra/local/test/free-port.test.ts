import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../src/index.ts';

test('a free port can be bound and lies below the range of outgoing connections', async () => {
  const port = await freePort();
  expect(port).toBeGreaterThanOrEqual(15_000);
  expect(port).toBeLessThan(30_000);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  await new Promise((resolve) => server.close(resolve));
});
