import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { aRoute, bodiesOf } from './ledger-fixture.ts';

const PROGRAM = fileURLToPath(new URL('programs/lose-the-connection.ts', import.meta.url));

describe('a connection that Postgres ends inside of transaction()', () => {
  for (const when of [
    'while it is idle',
    'while it is idle, and is used again',
    'in a statement',
    'in a statement whose error is swallowed',
    'after an enqueue that is not waited for',
  ])
    test(`${when}: the call is rejected, the process lives, the pool goes on`, async ({ database }) => {
      const { route } = await aRoute(database.pool);
      const child = spawn(process.execPath, [PROGRAM, database.url, route, when], {
        env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const said = JSON.parse(out) as { answer: string; next: string; lost: string; kept: string; clients: number };
      expect(said).toMatchObject({ answer: 'rejected', next: 'created', clients: 1 });
      expect(await bodiesOf(database.pool, said.lost)).toEqual([]);
      expect(await bodiesOf(database.pool, said.kept)).toHaveLength(1);
    });
});
