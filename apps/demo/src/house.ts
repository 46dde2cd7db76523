import { addRate, addRoute, addTemplate, listRates, setTenantRegion } from '@sendledger/core/ledger';
import pg from 'pg';
import { PRICE_PER_SEGMENT, SENDER, SIMULATED_CURRENCY } from './provider.ts';
import { SHOP_SCHEMA } from './shop-schema.ts';
import { TEMPLATES } from './shop-texts.ts';

export const ENVIRONMENT = 'demo';
export const TENANT = 'shop';
const ROUTE = 'simulated';

/**
 * Furnishes a migrated ledger as an operator would: a route, its price, the tenant, the approved templates; and makes the shop's
 * own tables. What is there already stays.
 */
export async function furnish(databaseUrl: string, submitWorkers: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const route = await addRoute(client, {
      name: ROUTE,
      provider: 'smsgatewaycenter',
      account: 'default',
      channel: 'sms',
      maxBatch: 100,
      // What this provider bills by: everything beyond ASCII goes as unicode.
      encodingRule: 'ascii',
      providerZone: 'Asia/Kolkata',
      defaultSenderId: SENDER,
      senderRequired: true,
      nationalDigits: 10,
      // No send windows, although promotions in India have one: at night half of the demo would wait for the morning.
    });
    // As much on the wire as the workers have connections.
    await client.query('update sendledger.route set max_in_flight_requests = 32 * $2 where id = $1', [
      route.id,
      submitWorkers,
    ]);
    const priced = (await listRates(client)).some((rate) => rate.route === ROUTE);
    if (!priced)
      await addRate(client, {
        routeId: route.id,
        priceKey: '*',
        currency: SIMULATED_CURRENCY,
        price: PRICE_PER_SEGMENT,
        validFrom: null,
        validTo: null,
      });
    await setTenantRegion(client, TENANT, 'IN');
    for (const template of TEMPLATES) await addTemplate(client, template);
    await client.query(SHOP_SCHEMA);
  } finally {
    await client.end();
  }
}
