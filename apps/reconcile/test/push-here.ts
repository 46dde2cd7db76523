import { type Adapter, createSmsGatewayCenter } from '@sendledger/gateway';
import { type AppContext, ReceiptKeeper } from '@sendledger/worker';
import type pg from 'pg';
import { onTestFinished } from 'vitest';
import { PushIntake } from '../src/push-intake.ts';
import { PushOutage } from '../src/push-outage.ts';
import { type Patience, PushServer } from '../src/push-server.ts';
import { UnreadPushes } from '../src/push-unread.ts';
import { contextOf } from './app-context.ts';

export const SECRET = 'only-a-test-has-this_secret-0123456789';
export const ACCOUNT = 'smsgatewaycenter/default';

/** An adapter that reads pushes and asks nobody; `trusted`: as one whose pushes are signed. */
export function pushAdapter(
  options: { trusted?: boolean; words?: Record<string, 'delivered' | 'failed'> } = {},
): Adapter {
  const real = createSmsGatewayCenter({
    baseUrl: 'http://127.0.0.1:1',
    userid: 'demo',
    password: 'demopassword',
    extraStatusWords: options.words,
  });
  const push = { ...real.capabilities.push, trusted: options.trusted ?? false };
  return { ...real, capabilities: { ...real.capabilities, push } };
}

export interface PushHere {
  /** Up to the secret, included. */
  readonly url: string;
  readonly origin: string;
  readonly context: AppContext;
  readonly keeper: ReceiptKeeper;
  readonly server: PushServer;
  /** Posts a form; answers the status. */
  post(fields: Readonly<Record<string, string>>): Promise<number>;
  /** How many pushes were answered so. */
  answered(answer: string): Promise<number>;
}

/** The endpoint as the app puts it together, on a free port. `pool` is the reconcile role's. */
export async function pushHere(
  pool: pg.Pool,
  options: {
    adapter?: Adapter;
    keeper?: (real: ReceiptKeeper) => Pick<ReceiptKeeper, 'store' | 'apply'>;
    outage?: Pick<PushOutage, 'refused'>;
    unread?: Pick<UnreadPushes, 'saw'>;
    storeWithinMs?: number;
    storesAtOnce?: number;
    bodyLimit?: number;
    patience?: Patience;
  } = {},
): Promise<PushHere> {
  const context = await contextOf(pool);
  const keeper = new ReceiptKeeper(context);
  const outage = options.outage ?? new PushOutage(context, [ACCOUNT]);
  const intake = new PushIntake(
    context,
    options.keeper?.(keeper) ?? keeper,
    outage,
    options.unread ?? new UnreadPushes(context),
    {
      storeWithinMs: options.storeWithinMs ?? 60_000,
      storesAtOnce: options.storesAtOnce ?? 64,
    },
  );
  const adapters = new Map([[ACCOUNT, options.adapter ?? pushAdapter()]]);
  const server = new PushServer(context.registry, adapters, intake, {
    host: '127.0.0.1',
    port: 0,
    secret: SECRET,
    bodyLimit: options.bodyLimit ?? 65_536,
    ...(options.patience === undefined ? {} : { patience: options.patience }),
  });
  const origin = await server.listen();
  let closed: Promise<void> | undefined;
  const close = server.close.bind(server);
  server.close = () => {
    closed ??= close();
    return closed;
  };
  onTestFinished(() => server.close());
  const url = `${origin}/push/${ACCOUNT}/${SECRET}`;
  return {
    url,
    origin,
    context,
    keeper,
    server,
    post: async (fields) => (await fetch(url, { method: 'POST', body: new URLSearchParams(fields) })).status,
    answered: async (answer) => {
      const text = await context.registry.metrics();
      const line = text.split('\n').find((l) => l.startsWith(`sendledger_pushes_total{answer="${answer}"}`));
      return Number(line?.split(' ').at(-1));
    },
  };
}

/** A push of the portal about one recipient. */
export const portalPush = (txn: string, recipient: string, change: Readonly<Record<string, string>> = {}) => ({
  Transactionid: txn,
  Messageid: `pm-${txn}`,
  MobileNumber: recipient,
  ErrorCode: '0',
  ReceivedTime: '2026-07-17 12:00:00',
  DeliveredTime: '2026-07-17 12:00:05',
  ...change,
});
