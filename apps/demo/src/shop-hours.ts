import { setTimeout as sleep } from 'node:timers/promises';
import type { Shop } from './shop.ts';
import { type Happening, shopDay } from './shop-plan.ts';
import type { Source } from './source.ts';

/** Tills that serve at once: transactions run side by side, as in a real shop. */
const TILLS = 4;
const TRICKLE_PAUSE_MS = 700;

/** The example application as a source: a rush of `messages`, and then, if asked for, one customer after the other. */
export function shopSource(
  shop: Shop,
  options: { messages: number; seed: number; trickle: boolean; run: string },
): Source {
  return {
    wanted: options.messages,
    get created() {
      return shop.counts.created;
    },
    async run(closed, rushIsOver) {
      await serve(shop, shopDay(options.messages, options.seed, `${options.run}S`), TILLS, closed, 0);
      if (!options.trickle) return;
      rushIsOver();
      await serve(shop, shopDay(Infinity, options.seed, `${options.run}T`), 1, closed, TRICKLE_PAUSE_MS);
    },
    report: () => [
      `shop          ${shop.counts.rolledBack} transactions rolled back on purpose, ${shop.counts.repeated} messages told twice and kept once`,
    ],
    close: () => shop.close(),
  };
}

async function serve(
  shop: Shop,
  day: Generator<Happening>,
  tills: number,
  closed: AbortSignal,
  pauseMs: number,
): Promise<void> {
  const till = async () => {
    // All tills draw from one generator: each happening is served once.
    for (let next = day.next(); next.done !== true && !closed.aborted; next = day.next()) {
      await shop.run(next.value);
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal: closed }).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: tills }, till));
}
