import { MESSAGE_CLASSES, type MessageClass } from '@sendledger/core';
import { durably, pauseLane, pauseRoute, resumeLane, resumeRoute } from '@sendledger/core/ledger';
import { type Command, Option } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { matching } from '../options.ts';
import { data } from '../output/write.ts';
import { routeNamed } from '../route-named.ts';
import { readSettings } from '../settings.ts';

const reason = matching(/\S/, 'Say why, for whoever finds it paused.');
const ONLY_CLASS = 'only the lane of this class';

export function addPauseCommands(route: Command): void {
  route
    .command('pause')
    .description('send nothing more through a route; what is on the wire is finished')
    .argument('<name>', 'name of the route')
    .requiredOption('--reason <text>', 'why, for whoever finds it paused', reason)
    .addOption(new Option('--class <class>', ONLY_CLASS).choices(MESSAGE_CLASSES))
    .addHelpText(
      'after',
      `
Once this answers, no request leaves through the route. Messages stay pending, and expire where they become worthless.

Example:
  sendledger route pause main --reason "provider reports delays"`,
    )
    .action(async (name: string, options: { reason: string; class?: MessageClass }) => {
      await change(name, options.class, 'paused', (sql, routeId, messageClass) =>
        messageClass === undefined
          ? pauseRoute(sql, routeId, options.reason)
          : pauseLane(sql, { routeId, messageClass }, options.reason),
      );
    });
  route
    .command('resume')
    .description('send through a route again')
    .argument('<name>', 'name of the route')
    .addOption(new Option('--class <class>', ONLY_CLASS).choices(MESSAGE_CLASSES))
    .action(async (name: string, options: { class?: MessageClass }) => {
      await change(name, options.class, 'resumed', (sql, routeId, messageClass) =>
        messageClass === undefined ? resumeRoute(sql, routeId) : resumeLane(sql, { routeId, messageClass }),
      );
    });
}

async function change(
  name: string,
  messageClass: MessageClass | undefined,
  done: 'paused' | 'resumed',
  work: (
    sql: Parameters<typeof pauseRoute>[0],
    routeId: string,
    messageClass: MessageClass | undefined,
  ) => Promise<boolean>,
): Promise<void> {
  const found = await withDatabase(readSettings().databaseUrl, (pool) =>
    durably(pool, async (sql) => work(sql, await routeNamed(sql, name), messageClass)),
  );
  const what = messageClass === undefined ? `route ${name}` : `lane ${messageClass} of route ${name}`;
  if (!found) throw new CliFailure(`There is no ${what}.`);
  data(`${what} ${done}`);
}
