import { RECEIPTS_AT_ONCE, type ReceiptOrigin, type ReceiptRecord } from '@sendledger/core/ledger';
import { type Adapter, DEFAULT_ZONE, type PushRequest } from '@sendledger/gateway';
import {
  type AppContext,
  Batcher,
  isRefusalOfData,
  lostToAnother,
  type ReceiptKeeper,
  toReceipt,
} from '@sendledger/worker';
import { type AccountRoute, routeOfAccount } from './account-route.ts';
import type { PushOutage } from './push-outage.ts';
import type { UnreadPushes } from './push-unread.ts';

/** `unavailable`: not on disk, as far as we know; the provider is asked to come again. */
export type PushResult = 'stored' | 'unreadable' | 'unavailable';

export interface IntakePolicy {
  /** How long a push waits for its receipts to be on disk, ms. */
  readonly storeWithinMs: number;
  /** Pushes that are being stored at most; those beyond are refused. */
  readonly storesAtOnce: number;
}

/** While the last try failed, one push in this time finds out whether the database is back; the others are refused at once. */
const TRY_AGAIN_MS = 1_000;
const ROUTE_KNOWN_FOR_MS = 60_000;
/** Stored receipts that wait to be applied here at most; the round for waiting receipts takes those beyond. */
const MOST_TO_APPLY = 5_000;

type Stored = 'stored' | 'no_route' | 'refused' | 'failed';

/**
 * From a push to receipts on disk: what is answered `stored` has been committed. Nothing here waits without a bound: neither for
 * the database, nor in a queue before it.
 */
export class PushIntake {
  readonly #context: AppContext;
  readonly #keeper: Pick<ReceiptKeeper, 'store' | 'apply'>;
  readonly #outage: Pick<PushOutage, 'refused'>;
  readonly #unread: Pick<UnreadPushes, 'saw'>;
  readonly #policy: IntakePolicy;
  readonly #routes = new Map<string, { readonly route: AccountRoute; readonly until: number }>();
  readonly #appliers = new Map<string, Batcher<readonly Buffer[]>>();
  #storing = 0;
  #toApply = 0;
  /** When the database failed last; null while it does not. */
  #failedAt: number | null = null;
  #trying = false;

  constructor(
    context: AppContext,
    keeper: Pick<ReceiptKeeper, 'store' | 'apply'>,
    outage: Pick<PushOutage, 'refused'>,
    unread: Pick<UnreadPushes, 'saw'>,
    policy: IntakePolicy,
  ) {
    this.#context = context;
    this.#keeper = keeper;
    this.#outage = outage;
    this.#unread = unread;
    this.#policy = policy;
  }

  /** Never throws. */
  async take(account: string, adapter: Adapter, push: PushRequest): Promise<PushResult> {
    const { log } = this.#context;
    const known = this.#knownRoute(`${adapter.provider}/${account}`);
    const zone = known?.zone ?? DEFAULT_ZONE;
    const answer = adapter.readPush(push, zone);
    if (answer.kind === 'unreadable') {
      // Portals try an address with a bare request and take nothing but a 200.
      if (push.body.byteLength === 0 && push.query.size === 0)
        log.debug({ provider: adapter.provider, account }, 'push_empty');
      else this.#unread.saw(`${adapter.provider}/${account}`, answer.detail, push.body.byteLength);
      return 'unreadable';
    }
    if (this.#storing >= this.#policy.storesAtOnce) return this.#unavailable('too many at once');
    const down = this.#failedAt !== null;
    if (this.#failedAt !== null && (this.#trying || performance.now() - this.#failedAt < TRY_AGAIN_MS))
      return this.#unavailable('the database is away');
    if (down) this.#trying = true;
    this.#storing++;
    const storing = this.#store(
      account,
      adapter,
      push,
      zone,
      answer.records.map((record) => toReceipt(record)),
    ).finally(() => {
      this.#storing--;
    });
    const stored = await within(storing, this.#policy.storeWithinMs);
    if (down) this.#trying = false;
    if (stored === 'stored') return 'stored';
    if (stored !== 'late') return 'unavailable';
    // It goes on, and holds its place until it has ended; what it stores is applied like any other.
    this.#failedAt = performance.now();
    return this.#unavailable('the database is slow');
  }

  /** One whose body is longer than what is read of any: it is refused, and nothing of it is kept. */
  tooLong(account: string, adapter: Adapter): void {
    this.#unread.saw(`${adapter.provider}/${account}`, 'the body is too long', null);
  }

  async #store(
    account: string,
    adapter: Adapter,
    push: PushRequest,
    readIn: string,
    read: readonly ReceiptRecord[],
  ): Promise<Stored> {
    const { log } = this.#context;
    try {
      const route = await this.#routeOf(adapter.provider, account);
      if (route === null) {
        this.#failedAt = null;
        log.warn({ provider: adapter.provider, account }, 'push_without_route');
        return 'no_route';
      }
      const origin: ReceiptOrigin = {
        routeId: route.id,
        provider: adapter.provider,
        account,
        source: 'push',
        hint: !adapter.capabilities.push.trusted,
      };
      const records = route.zone === readIn ? read : readAgain(adapter, push, route.zone);
      for (let at = 0; at < records.length; at += RECEIPTS_AT_ONCE) {
        const { hashes } = await this.#keep(origin, records.slice(at, at + RECEIPTS_AT_ONCE));
        this.#applyLater(origin, hashes);
      }
      this.#failedAt = null;
      log.debug({ route: route.id, records: records.length }, 'push_stored');
      return 'stored';
    } catch (err) {
      if (isRefusalOfData(err)) {
        this.#failedAt = null;
        log.error({ err, provider: adapter.provider }, 'push_not_storable');
        return 'refused';
      }
      this.#failedAt = performance.now();
      this.#outage.refused('the database is away', err);
      return 'failed';
    }
  }

  async #keep(
    origin: ReceiptOrigin,
    records: readonly ReceiptRecord[],
  ): Promise<{ readonly hashes: readonly Buffer[] }> {
    try {
      return await this.#keeper.store(origin, records);
    } catch (err) {
      // Somebody stored some of the same evidence in another order.
      if (!lostToAnother(err)) throw err;
      return this.#keeper.store(origin, records);
    }
  }

  #unavailable(reason: string): 'unavailable' {
    this.#outage.refused(reason);
    return 'unavailable';
  }

  #knownRoute(key: string): AccountRoute | undefined {
    const known = this.#routes.get(key);
    return known !== undefined && known.until > performance.now() ? known.route : undefined;
  }

  async #routeOf(provider: string, account: string): Promise<AccountRoute | null> {
    const key = `${provider}/${account}`;
    const known = this.#knownRoute(key);
    if (known !== undefined) return known;
    const route = await routeOfAccount(this.#context.sql, provider, account);
    if (route !== null) this.#routes.set(key, { route, until: performance.now() + ROUTE_KNOWN_FOR_MS });
    return route;
  }

  /** Nobody waits for it: what is stored and not applied is found by the round for waiting receipts. */
  #applyLater(origin: ReceiptOrigin, hashes: readonly Buffer[]): void {
    if (this.#toApply + hashes.length > MOST_TO_APPLY) return;
    this.#toApply += hashes.length;
    void this.#applierOf(origin)
      .add(hashes)
      .finally(() => {
        this.#toApply -= hashes.length;
      });
  }

  #applierOf(origin: ReceiptOrigin): Batcher<readonly Buffer[]> {
    const key = `${origin.routeId} ${origin.provider}/${origin.account}`;
    const known = this.#appliers.get(key);
    if (known !== undefined) return known;
    const applier = new Batcher<readonly Buffer[]>(
      RECEIPTS_AT_ONCE,
      (hashes) => hashes.length,
      async (groups) => {
        try {
          await this.#keeper.apply(origin, groups.flat());
        } catch (err) {
          this.#context.log.warn({ err, route: origin.routeId }, 'push_not_applied');
        }
      },
    );
    this.#appliers.set(key, applier);
    return applier;
  }
}

/** The clock strings of a push are read in the zone of its route, which was not known the first time. */
function readAgain(adapter: Adapter, push: PushRequest, zone: string): readonly ReceiptRecord[] {
  const answer = adapter.readPush(push, zone);
  return answer.kind === 'records' ? answer.records.map((record) => toReceipt(record)) : [];
}

async function within<T>(work: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      work,
      new Promise<'late'>((resolve) => {
        timer = setTimeout(() => resolve('late'), ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
