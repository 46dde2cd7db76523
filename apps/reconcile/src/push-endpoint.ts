import type { Adapter } from '@sendledger/gateway';
import { type AppContext, Loop, type ReceiptKeeper } from '@sendledger/worker';
import { PushIntake } from './push-intake.ts';
import { PushOutage } from './push-outage.ts';
import { PushServer } from './push-server.ts';
import { UnreadPushes } from './push-unread.ts';

export interface PushSettings {
  /** Undefined: no pushes are taken. */
  readonly SENDLEDGER_PUSH_PORT?: number | undefined;
  readonly SENDLEDGER_PUSH_HOST: string;
  readonly SENDLEDGER_PUSH_SECRET?: string | undefined;
  readonly SENDLEDGER_PUSH_BODY_LIMIT: number;
  readonly SENDLEDGER_PUSH_STORE_WITHIN_MS: number;
  readonly SENDLEDGER_POLL_INTERVAL_MS: number;
}

export interface PushEndpoint {
  readonly loops: readonly Loop[];
  rest(): Promise<void>;
}

const STORES_AT_ONCE = 64;

/** Listens for pushes if a port is set. @throws the system's error for a port that is taken. */
export async function startPushEndpoint(
  context: AppContext,
  settings: PushSettings,
  adapters: ReadonlyMap<string, Adapter>,
  keeper: ReceiptKeeper,
): Promise<PushEndpoint> {
  const { SENDLEDGER_PUSH_PORT: port, SENDLEDGER_PUSH_SECRET: secret } = settings;
  if (port === undefined || secret === undefined) return { loops: [], rest: async () => undefined };
  const accounts = [...adapters.keys()];
  const outage = new PushOutage(context, accounts);
  const unread = new UnreadPushes(context);
  const intake = new PushIntake(context, keeper, outage, unread, {
    storeWithinMs: settings.SENDLEDGER_PUSH_STORE_WITHIN_MS,
    storesAtOnce: STORES_AT_ONCE,
  });
  const server = new PushServer(context.registry, adapters, intake, {
    host: settings.SENDLEDGER_PUSH_HOST,
    port,
    secret,
    bodyLimit: settings.SENDLEDGER_PUSH_BODY_LIMIT,
  });
  const url = await server.listen();
  // The path without its last part: whoever has that may push.
  context.log.info({ url, paths: accounts.map((account) => `/push/${account}/…`) }, 'push_listening');
  return {
    loops: [
      new Loop('push outage', settings.SENDLEDGER_POLL_INTERVAL_MS, context.log, outage.round),
      new Loop('unread pushes', settings.SENDLEDGER_POLL_INTERVAL_MS, context.log, unread.round),
    ],
    rest: () => server.close(),
  };
}
