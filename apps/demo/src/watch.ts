import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@sendledger/core/ledger';
import { type Interrupt, Interrupted } from './interrupt.ts';
import { type LedgerReading, readLedger } from './ledger-reading.ts';
import type { DemoOptions } from './options.ts';
import type { Screen } from './screen.ts';
import type { Source } from './source.ts';

const LOOK_EVERY_MS = 300;
/** After Ctrl-C, how long the messages that are on their way are waited for. A second Ctrl-C does not wait. */
const SETTLE_MS = 10_000;

export interface Watch {
  readonly ledger: Sql;
  readonly source: Source;
  readonly screen: Screen;
  readonly interrupt: Interrupt;
  /** Resolves when a process of the fleet has died. */
  readonly broken: Promise<string>;
  readonly options: Pick<DemoOptions, 'exit' | 'timeoutMs'>;
}

/** How a run ended: everything settled, the time was over, or somebody did not want to wait for the rest. */
export type Ending = 'settled' | 'timeout' | 'stopped';

/** Lets the source enqueue, shows the ledger, and comes back when everything has settled or nobody waits any longer. */
export async function watch({ ledger, source, screen, interrupt, broken, options }: Watch): Promise<{
  ending: Ending;
  seconds: number;
}> {
  const startedAt = Date.now();
  const secondsSoFar = () => (Date.now() - startedAt) / 1000;
  const closing = new AbortController();
  let enqueuing = true;
  let rush = true;
  let trouble: Error | undefined;
  void broken.then((what) => {
    trouble ??= new Error(what);
  });
  const enqueued = source
    .run(closing.signal, () => {
      rush = false;
    })
    .catch((error: unknown) => {
      trouble ??= error as Error;
    })
    .finally(() => {
      enqueuing = false;
    });

  try {
    let stopAt = Number.POSITIVE_INFINITY;
    let toldOfSettling = false;
    for (;;) {
      const reading = await readLedger(ledger);
      screen.show({
        ledger: reading,
        created: source.created,
        wanted: rush ? source.wanted : null,
        seconds: secondsSoFar(),
      });
      if (trouble !== undefined) throw trouble;
      if (!enqueuing && reading.open === 0 && (options.exit || interrupt.asked.aborted))
        return { ending: 'settled', seconds: secondsSoFar() };
      if (options.exit) {
        if (interrupt.asked.aborted) throw new Interrupted();
        if (secondsSoFar() * 1000 > options.timeoutMs) return { ending: 'timeout', seconds: secondsSoFar() };
      } else if (interrupt.asked.aborted) {
        if (interrupt.now.aborted) throw new Interrupted();
        if (stopAt === Number.POSITIVE_INFINITY) {
          stopAt = Date.now() + SETTLE_MS;
          closing.abort();
          screen.say(waitingFor(reading));
        }
        if (Date.now() > stopAt) return { ending: 'stopped', seconds: secondsSoFar() };
      } else if (!toldOfSettling && !(rush && enqueuing) && reading.open === 0) {
        screen.say('Everything so far has settled. Ctrl-C ends the demo.');
        toldOfSettling = true;
      }
      const wake = interrupt.asked.aborted ? interrupt.now : interrupt.asked;
      await sleep(LOOK_EVERY_MS, undefined, { signal: wake }).catch(() => undefined);
    }
  } finally {
    closing.abort();
    await enqueued;
  }
}

function waitingFor({ open }: LedgerReading): string {
  return `Closing. ${open} messages are on their way; waiting up to ${SETTLE_MS / 1000} s (Ctrl-C again: not at all).`;
}
