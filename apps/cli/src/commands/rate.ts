import { addRate, durably, endRate, listRates, resolveNoRate } from '@sendledger/core/ledger';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { instant, matching, someText } from '../options.ts';
import { table } from '../output/table.ts';
import { counted } from '../output/words.ts';
import { data, json, talk } from '../output/write.ts';
import { routeNamed } from '../route-named.ts';
import { readSettings } from '../settings.ts';

interface AddOptions {
  route: string;
  key: string;
  price: string;
  currency: string;
  from?: Date;
  to?: Date;
  by: string;
}

/** As the database keeps it: twelve digits, six of them behind the point. More would be rounded in silence. */
const price = matching(/^\d{1,6}(\.\d{1,6})?$/, 'A decimal number with at most 6 digits on either side, e.g. 0.1225.');
const currency = matching(/^[A-Z]{3}$/, 'An ISO 4217 code, e.g. INR.');
const priceKey = matching(
  /^(\*|(otp|transactional|promotional):(\*|[A-Z]{2}))$/,
  'One of *, <class>:* and <class>:<country>, e.g. otp:IN.',
);
const KEY_HELP = 'what it is the price of: <class>:<country>, <class>:* or *; the most exact one counts';

export function addRateCommands(program: Command): void {
  const rate = program.command('rate').description('prices: per route, per unit (one recipient, one segment)');
  rate
    .command('add')
    .description('add a price')
    .requiredOption('--route <name>', 'the route')
    .requiredOption('--price <decimal>', 'per unit', price)
    .requiredOption('--currency <code>', 'ISO 4217', currency)
    .option('--key <key>', KEY_HELP, priceKey, '*')
    .option('--from <instant>', 'valid from, included (default: ever since)', instant)
    .option('--to <instant>', 'valid to, excluded (default: until further notice)', instant)
    .option('--by <name>', 'who adds it, for the reviews that asked for this price', someText, 'sendledger rate add')
    .addHelpText(
      'after',
      `
Messages that waited for this price go out by themselves, and the reviews that asked for it are closed.
Periods of one route and key may not overlap. To change a price, end the old one where the new one begins.

Examples:
  sendledger rate add --route main --price 0.1225 --currency INR
  sendledger rate end --route main --at 2026-04-01T00:00:00+05:30
  sendledger rate add --route main --price 0.13 --currency INR --from 2026-04-01T00:00:00+05:30`,
    )
    .action(async (options: AddOptions) => {
      if (options.from !== undefined && options.to !== undefined && options.to <= options.from)
        throw new CliFailure('--to must lie after --from.');
      const closed = await withDatabase(readSettings().databaseUrl, async (pool) => {
        const routeId = await routeNamed(pool, options.route);
        try {
          const rate = {
            routeId,
            priceKey: options.key,
            currency: options.currency,
            price: options.price,
            validFrom: options.from ?? null,
            validTo: options.to ?? null,
          };
          const note = `price added for ${options.key}`;
          return await durably(pool, async (sql) => {
            await addRate(sql, rate);
            return resolveNoRate(sql, routeId, options.by, note);
          });
        } catch (error) {
          if ((error as { code?: unknown }).code !== EXCLUSION_VIOLATION) throw error;
          throw new CliFailure(
            `Route ${options.route} already has a price for ${options.key} in that period (see: sendledger rate list). End it first: sendledger rate end --route ${options.route} --key '${options.key}' --at INSTANT; then add this one with --from INSTANT.`,
          );
        }
      });
      data(`rate added: ${options.price} ${options.currency} per unit for ${options.key} on route ${options.route}`);
      if (closed > 0) talk(`${counted(closed, 'review')} that asked for it closed`);
    });
  rate
    .command('end')
    .description('end the price that is valid at an instant, so that another may begin there')
    .requiredOption('--route <name>', 'the route')
    .requiredOption('--at <instant>', 'its new end, excluded', instant)
    .option('--key <key>', KEY_HELP, priceKey, '*')
    .action(async (options: { route: string; key: string; at: Date }) => {
      const ended = await withDatabase(readSettings().databaseUrl, async (pool) =>
        endRate(pool, await routeNamed(pool, options.route), options.key, options.at),
      );
      if (!ended)
        throw new CliFailure(`Route ${options.route} has no price for ${options.key} at ${options.at.toISOString()}.`);
      data(`rate ended: ${options.key} on route ${options.route}, at ${options.at.toISOString()}`);
    });
  rate
    .command('list')
    .description('show the prices')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const rates = await withDatabase(readSettings().databaseUrl, listRates);
      if (options.json === true) json(rates);
      else if (rates.length === 0)
        talk('No price yet. Without one a message stays pending: sendledger rate add --help');
      else
        data(
          table(
            ['ROUTE', 'KEY', 'PRICE', 'CURRENCY', 'VALID'],
            rates.map((r) => [r.route, r.priceKey, r.price, r.currency, r.valid]),
          ),
        );
    });
}

const EXCLUSION_VIOLATION = '23P01';
