import { durably, openBreakersOf } from '@sendledger/core/ledger';
import type { AccountAnswer, Adapter } from '@sendledger/gateway';
import { type AppContext, Gauge, type Round } from '@sendledger/worker';

/** An account that cannot be asked is told about this often. */
const TELL_EVERY_MS = 60_000;
const LONGEST_REASON = 200;

/**
 * Asks each account whether it would let anything pass: with bad credentials or an empty prepaid balance every send is a refusal,
 * so the breakers of its routes open before one is made. Only a clear answer opens them: an error that is not known to be about
 * the account may be about this call alone, and the sends pass. Nothing is closed here: that a send succeeds is for the probe to find out.
 *
 * @param adapters by `provider/account`
 */
export function accountRound(context: AppContext, adapters: ReadonlyMap<string, Adapter>): () => Promise<Round> {
  const { log } = context;
  const trouble = new Gauge({
    name: 'sendledger_account_trouble',
    help: '1 while the provider says that the account is refused or empty; it keeps its value while the provider does not answer.',
    labelNames: ['account'],
    registers: [context.registry],
  });
  for (const account of adapters.keys()) trouble.set({ account }, 0);
  const told = new Map<string, number>();

  const watch = async (key: string, adapter: Adapter) => {
    const answer = await adapter.account();
    if (answer.kind === 'unavailable') {
      if (performance.now() - (told.get(key) ?? Number.NEGATIVE_INFINITY) < TELL_EVERY_MS) return;
      told.set(key, performance.now());
      log.warn({ account: key, detail: answer.detail }, 'account_unavailable');
      return;
    }
    const reason = troubleOf(answer);
    trouble.set({ account: key }, reason === null ? 0 : 1);
    if (reason === null) return;
    const account = key.slice(adapter.provider.length + 1);
    const opened = await durably(context.pool, (sql) => openBreakersOf(sql, adapter.provider, account, reason));
    for (const route of opened) log.error({ route, reason }, 'breaker_opened');
  };

  return async () => {
    for (const [key, adapter] of adapters) await watch(key, adapter);
    return 'none';
  };
}

/** The words of a probe that is not sent for the same reason. */
function troubleOf(answer: Exclude<AccountAnswer, { kind: 'unavailable' }>): string | null {
  if (answer.kind === 'refused') return `the free call: ${answer.detail}`.slice(0, LONGEST_REASON);
  return answer.empty ? 'the balance is empty' : null;
}
