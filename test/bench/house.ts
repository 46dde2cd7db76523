import { addRate, addRoute, addTemplate, durably, type RouteBounds, setRouteBounds } from '@sendledger/core/ledger';
import type pg from 'pg';

export const CODE_TEMPLATE = 'code';
const BY = { who: 'bench', why: 'a measurement' };

/** One route to the simulated provider, its price, and the template of the codes. Answers the route's id. */
export async function furnish(
  pool: pg.Pool,
  options: { maxBatch: number; submitWorkers: number; bounds?: RouteBounds; name?: string },
): Promise<string> {
  const { id } = await addRoute(pool, {
    name: options.name ?? 'simulated',
    provider: 'smsgatewaycenter',
    account: 'default',
    channel: 'sms',
    maxBatch: options.maxBatch,
    encodingRule: 'ascii',
    providerZone: 'Asia/Kolkata',
    defaultSenderId: 'SHOPIN',
    senderRequired: true,
    nationalDigits: 10,
  });
  await addRate(pool, {
    routeId: id,
    priceKey: '*',
    currency: 'INR',
    price: '0.1200',
    validFrom: null,
    validTo: null,
  });
  await addTemplate(pool, {
    id: CODE_TEMPLATE,
    version: '1',
    channel: 'sms',
    messageClass: 'otp',
    body: 'Your code is {{code}}',
    variables: [{ name: 'code', secret: true }],
    senderId: null,
    dltEntityId: null,
    dltTemplateId: null,
  });
  // As much on the wire as the workers have connections, unless the bench says otherwise.
  const bounds = { maxInFlightRequests: 32 * options.submitWorkers, ...options.bounds };
  await durably(pool, (sql) => setRouteBounds(sql, id, bounds, BY));
  return id;
}
