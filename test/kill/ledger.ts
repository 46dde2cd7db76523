import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

const AGAIN_MS = 50;

/** Asks until it is answered: the server may be on its way down or up, or have cut this connection too. */
export async function patiently<T>(work: () => Promise<T>, untilMs = Number.POSITIVE_INFINITY): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isAboutConnection(error) || performance.now() > untilMs) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

/** Class 08 and 57P: the connection or the server, not the statement. */
function isAboutConnection(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && /^(08|57P|ECONN|EPIPE)/.test(code)) return true;
  return /connection|terminat/i.test(String(message));
}

export async function rows<Row>(pool: pg.Pool, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const answer = await patiently(() => pool.query(text, [...values]));
  return answer.rows as Row[];
}
