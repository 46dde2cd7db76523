import { laneName, MESSAGE_CLASSES } from '@sendledger/core';
import { durably, probeNow, type RouteBounds, type Sql, setLaneWindow, setRouteBounds } from '@sendledger/core/ledger';
import { type Command, Option } from 'commander';
import type pg from 'pg';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { leadTime, matching, readsPerMinute, type Windows, wholeBetween, window, zone } from '../options.ts';
import { data } from '../output/write.ts';
import { routeNamed } from '../route-named.ts';
import { readSettings } from '../settings.ts';
import { wakeLanes } from '../wake.ts';

interface SetOptions {
  by: string;
  why: string;
  inFlight?: number;
  inFlightRows?: number;
  threshold?: number;
  probeFirst?: number;
  probeLongest?: number;
  zone?: string;
  rate?: string;
  rateUnit?: 'requests' | 'recipients';
  burstSeconds?: string;
  otpReserve?: string;
  scheduleLead?: string;
  readsPerMinute?: string;
  window?: Windows;
}

const decimal = matching(/^\d{1,6}(\.\d{1,4})?$/, 'A decimal number, e.g. 0.5.');
const rate = matching(/^(none|\d{1,7}(\.\d{1,4})?)$/, 'Tokens a second, e.g. 50 or 0.5, or none.');
const said = matching(/\S/, 'Say it: it is kept.');

export function addBreakerCommands(route: Command): void {
  route
    .command('probe')
    .description('a breaker is open: let its next probe leave now')
    .argument('<name>', 'name of the route')
    .option('--force', "do not ask the provider's free call first: it may be what is broken")
    .addHelpText(
      'after',
      `
The provider's free call is asked first, then one message is sent; if it is answered, the breaker closes and the rest follows.
With --force one message is sent whatever the free call would say.

Examples:
  sendledger route probe main
  sendledger route probe main --force`,
    )
    .action(async (name: string, options: { force?: boolean }) => {
      const force = options.force === true;
      const open = await withDatabase(readSettings().databaseUrl, (pool) =>
        durably(pool, async (sql) => probeNow(sql, await routeNamed(sql, name), { force })),
      );
      const due = `the next probe of route ${name} is due now${force ? ', without the free call' : ''}`;
      data(open ? due : `the breaker of route ${name} is closed`);
    });
  route
    .command('set')
    .description('change the bounds of a route')
    .argument('<name>', 'name of the route')
    .requiredOption('--by <name>', 'who changes it', said)
    .requiredOption('--why <text>', 'why', said)
    .option('--in-flight <requests>', 'requests on the wire at once, all processes together', wholeBetween(1, 10_000))
    .option('--in-flight-rows <recipients>', 'recipients on the wire at once', wholeBetween(1, 10_000_000))
    .option(
      '--threshold <outcomes>',
      'ambiguous or unsent outcomes in a row that open the breaker',
      wholeBetween(1, 1_000),
    )
    .option('--probe-first <ms>', 'pause before the first probe; it doubles with each', wholeBetween(1, 3_600_000))
    .option('--probe-longest <ms>', 'longest pause between two probes', wholeBetween(1, 86_400_000))
    .option(
      '--zone <zone>',
      "IANA zone of the provider's clock strings; what was learned of its clock is forgotten",
      zone,
    )
    .option(
      '--rate <per-second>',
      'tokens a second over all workers, fractions allowed; 0: nothing leaves; none: no limit',
      rate,
    )
    .addOption(new Option('--rate-unit <unit>', 'what the provider counts').choices(['requests', 'recipients']))
    .option('--burst-seconds <seconds>', 'what it takes at once over its rate, as seconds of the rate', decimal)
    .option('--otp-reserve <share>', 'share of the burst that only one-time passwords may use, 0 to 0.9', decimal)
    .option(
      '--schedule-lead <time>',
      'how long before its time a message must be with the provider to be held there, e.g. 5m; none: it holds none',
      leadTime,
    )
    .option(
      '--reads-per-minute <n>',
      'whole reports of its account that a backfill reads a minute at most, fractions allowed; none: no limit',
      readsPerMinute,
    )
    .option(
      '--window <class=window>',
      'when a class may be sent, e.g. promotional=10:00-21:00@Asia/Kolkata, or promotional=none; may be given for each class',
      window,
    )
    .addHelpText(
      'after',
      `
A new window is for what waits too: it is due again at once, and the next claim judges it by the new window.

Examples:
  sendledger route set main --window promotional=10:00-21:00@Asia/Kolkata --by meera --why "the rules of the regulator"
  sendledger route set main --rate 50 --by meera --why "their limit since June"
  sendledger route set main --in-flight 64 --by meera --why "the provider allows more since June"`,
    )
    .action(async (name: string, options: SetOptions) => {
      const bounds = boundsOf(options);
      const windows = options.window ?? {};
      const by = { who: options.by, why: options.why };
      const anyBound = Object.keys(bounds).length > 0;
      if (!anyBound && options.window === undefined)
        throw new CliFailure('Nothing to change: name at least one bound.');
      const settings = readSettings();
      const lanes = await withDatabase(settings.databaseUrl, async (pool) => {
        const routeId = await routeNamed(pool, name);
        if (anyBound) await durably(pool, (sql) => setRouteBounds(sql, routeId, bounds, by));
        const changed = MESSAGE_CLASSES.filter((one) => Object.hasOwn(windows, one));
        for (const messageClass of changed) {
          const there = await setLaneWindow(
            eachDurably(pool),
            routeId,
            messageClass,
            windows[messageClass] ?? null,
            by,
          );
          if (!there) throw new CliFailure(`There is no lane ${messageClass} of route ${name}.`);
        }
        return changed.map((messageClass) => laneName(routeId, messageClass));
      });
      if (lanes.length > 0) await wakeLanes(settings.redisUrl, lanes);
      data(`route ${name} changed`);
    });
}

/** Each statement in a transaction of its own: a backlog is moved batch by batch. */
function eachDurably(pool: pg.Pool): Sql {
  return { query: (text, values) => durably(pool, (sql) => sql.query(text, values)) };
}

function boundsOf(options: SetOptions): RouteBounds {
  return {
    ...(options.inFlight === undefined ? {} : { maxInFlightRequests: options.inFlight }),
    ...(options.inFlightRows === undefined ? {} : { maxInFlightRows: options.inFlightRows }),
    ...(options.threshold === undefined ? {} : { breakerThreshold: options.threshold }),
    ...(options.probeFirst === undefined ? {} : { probeFirstMs: options.probeFirst }),
    ...(options.probeLongest === undefined ? {} : { probeLongestMs: options.probeLongest }),
    ...(options.zone === undefined ? {} : { providerZone: options.zone }),
    ...(options.rate === undefined ? {} : { rate: options.rate }),
    ...(options.rateUnit === undefined ? {} : { rateUnit: options.rateUnit }),
    ...(options.burstSeconds === undefined ? {} : { burstSeconds: options.burstSeconds }),
    ...(options.otpReserve === undefined ? {} : { otpReserve: options.otpReserve }),
    ...(options.scheduleLead === undefined ? {} : { scheduleLead: options.scheduleLead }),
    ...(options.readsPerMinute === undefined ? {} : { readsPerMinute: options.readsPerMinute }),
  };
}
