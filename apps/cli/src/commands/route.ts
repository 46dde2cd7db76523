import { MESSAGE_CHANNELS, type MessageChannel } from '@sendledger/core';
import { addRoute, listRoutes, type NewRoute, type RouteRow } from '@sendledger/core/ledger';
import { type Command, Option } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { matching, readsPerMinute, type Windows, wholeBetween, window, zone } from '../options.ts';
import { table } from '../output/table.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';
import { addBreakerCommands } from './route-breaker.ts';
import { addPauseCommands } from './route-pause.ts';

interface AddOptions {
  provider: string;
  account: string;
  channel: MessageChannel;
  maxBatch: number;
  encodingRule: 'gsm7' | 'ascii';
  zone: string;
  sender?: string;
  senderRequired: boolean;
  nationalDigits?: number;
  window?: Windows;
  readsPerMinute?: string;
}

/** As enqueue takes it. */
const sender = matching(
  /^([A-Za-z0-9 ._-]{1,11}|[0-9]{1,15})$/,
  'A sender is 1 to 11 letters and digits, or up to 15 digits.',
);
const routeName = matching(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'Lower case letters, digits, - and _, at most 63.');

/** Providers that take national numbers too, and how long those are. */
const NATIONAL_DIGITS: Readonly<Record<string, number>> = { smsgatewaycenter: 10 };

export function addRouteCommands(program: Command): void {
  const route = program.command('route').description('routes: a provider account and a channel');
  route
    .command('add')
    .description('make a route and its three lanes')
    .argument('<name>', 'name of the route', routeName)
    .requiredOption('--provider <provider>', 'e.g. smsgatewaycenter')
    .option('--account <account>', "which account of the provider; the submit worker's, never a credential", 'default')
    .addOption(new Option('--channel <channel>', 'what it carries').choices(MESSAGE_CHANNELS).default('sms'))
    .option('--max-batch <recipients>', 'recipients in one request; 1: no batching', wholeBetween(1, 10_000), 500)
    .addOption(
      new Option('--encoding-rule <rule>', 'which texts go out in GSM-7: all of its alphabet, or only ASCII')
        .choices(['ascii', 'gsm7'])
        .default('ascii'),
    )
    .option('--sender <id>', 'sender of messages that name none', sender)
    .option(
      '--no-sender-required',
      'take SMS without any sender in; else enqueue refuses what the provider would refuse',
    )
    .option(
      '--national-digits <n>',
      'numbers of this length are refused, since the provider reads them as national ones (smsgatewaycenter: 10)',
      wholeBetween(1, 15),
    )
    .option('--zone <zone>', "IANA zone of the provider's clock strings", zone, 'Asia/Kolkata')
    .option('--reads-per-minute <n>', 'whole reports a backfill reads a minute at most; none: no limit', readsPerMinute)
    .option(
      '--window <class=window>',
      'when a class may be sent, e.g. promotional=10:00-21:00@Asia/Kolkata, or promotional=none; may be given for each class',
      window,
    )
    .addHelpText(
      'after',
      `
Nothing is sent through a route before it has a price: see "sendledger rate add". Where --zone is Asia/Kolkata, promotions
are sent from 10:00 to 21:00 there, as India demands, unless --window says otherwise.

Example:
  sendledger route add main --provider smsgatewaycenter --sender SHOPIN`,
    )
    .action(async (name: string, options: AddOptions) => {
      const wanted: NewRoute = {
        name,
        provider: options.provider,
        account: options.account,
        channel: options.channel,
        maxBatch: options.maxBatch,
        encodingRule: options.encodingRule,
        providerZone: options.zone,
        defaultSenderId: options.sender ?? null,
        senderRequired: options.senderRequired && options.channel === 'sms',
        nationalDigits: options.nationalDigits ?? NATIONAL_DIGITS[options.provider] ?? null,
        windows: windowsOf(options),
        ...(options.readsPerMinute === undefined ? {} : { readsPerMinute: options.readsPerMinute }),
      };
      await withDatabase(readSettings().databaseUrl, async (pool) => {
        const { id, made } = await addRoute(pool, wanted);
        if (made) {
          data(`route ${name} added (id ${id}), with lanes otp, transactional, promotional`);
          return;
        }
        refuseOther(wanted, await listRoutes(pool));
        data(`route ${name} is there already (id ${id}), left as it is`);
      });
    });
  route
    .command('list')
    .description('show the routes')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const routes = await withDatabase(readSettings().databaseUrl, listRoutes);
      if (options.json === true) json(routes);
      else if (routes.length === 0)
        talk('No route yet. Add one: sendledger route add main --provider smsgatewaycenter');
      else
        data(
          table(
            ['ID', 'NAME', 'PROVIDER', 'ACCOUNT', 'CHANNEL', 'BATCH', 'RATE', 'WINDOWS', 'HOLDS', 'PAUSED', 'BREAKER'],
            routes.map((r) => [
              r.id,
              r.name,
              r.provider,
              r.account,
              r.channel,
              `${r.maxBatch}`,
              r.rate === null ? 'none' : `${r.rate} ${r.rateUnit}/s`,
              r.windows.map(windowText).join(', ') || 'none',
              r.scheduleLead === null ? 'no' : `from ${r.scheduleLead} ahead`,
              r.paused ? 'yes' : 'no',
              r.breaker === 'closed' ? 'closed' : `open: ${r.breakerReason ?? 'no reason given'}`,
            ]),
          ),
        );
    });
  addPauseCommands(route);
  addBreakerCommands(route);
}

/** Promotions in India: not before ten and not after nine in the evening. */
const INDIA = 'Asia/Kolkata';
const SHIPPED: Windows = { promotional: { opens: '10:00', closes: '21:00', zone: INDIA } };

/** What was given, and beside it what is shipped for the country of the route's clock. */
function windowsOf({ zone, window: given = {} }: AddOptions): NonNullable<NewRoute['windows']> {
  const wanted: Windows = { ...(zone === INDIA ? SHIPPED : {}), ...given };
  const open = Object.entries(wanted).flatMap(([messageClass, one]) => (one === null ? [] : [[messageClass, one]]));
  return Object.fromEntries(open) as NonNullable<NewRoute['windows']>;
}

function windowText({ messageClass, opens, closes, zone }: RouteRow['windows'][number]): string {
  return `${messageClass} ${opens}-${closes} ${zone}`;
}

/** A route is never changed by adding it again: what was sent through it was sent under what it says. */
function refuseOther(wanted: NewRoute, routes: readonly RouteRow[]): void {
  const there = routes.find((r) => r.name === wanted.name);
  if (there === undefined) throw new CliFailure(`Route ${wanted.name} was retired; choose another name.`);
  const differing = (['provider', 'account', 'channel', 'maxBatch'] as const).filter((k) => there[k] !== wanted[k]);
  if (differing.length > 0)
    throw new CliFailure(
      `Route ${wanted.name} is there already with ${differing.map((k) => `${k} ${there[k]}`).join(', ')}. Choose another name.`,
    );
}
