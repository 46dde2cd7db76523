import { durably, heldSchedules, messageStory, moveSchedule, type ScheduleMoved } from '@sendledger/core/ledger';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { findOne, MESSAGE_HELP, notKnown } from '../find-message.ts';
import { matching, someText, wholeBetween, zone } from '../options.ts';
import { heldTable, moveLine } from '../output/schedule-lines.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';
import { wakeLanes } from '../wake.ts';

interface MoveOptions {
  to: string;
  zone?: string;
  wholeRequest?: boolean;
  by: string;
  why: string;
  json?: boolean;
}

const time = matching(
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/,
  'Give a time with its offset, e.g. 2026-03-01T09:00:00+05:30, or without one beside --zone.',
);

export function addScheduleCommands(program: Command): void {
  const schedule = program.command('schedule').description('messages that wait for a time of their own');
  schedule
    .command('move')
    .description('give a scheduled message another time')
    .argument('<message>', MESSAGE_HELP)
    .requiredOption('--to <time>', 'the new time; without an offset by the clock of --zone', time)
    .option('--zone <zone>', 'IANA zone; default: the one it was scheduled in', zone)
    .option('--whole-request', 'the provider holds it with other recipients in one request: they are meant too')
    .requiredOption('--by <name>', 'who asks; kept', someText)
    .requiredOption('--why <text>', 'why; kept', someText)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
What waits here is moved at once. What a provider holds is moved there: it is asked, and the old time stands until its list
shows the new one (see "sendledger schedule list"). Exit code 1 where it is refused.

Examples:
  sendledger schedule move 1042 --to 2026-03-01T09:00 --zone Asia/Kolkata --by asha --why "the sale begins later"
  sendledger schedule move 1042 --to 2026-03-01T03:30:00Z --whole-request --by asha --why "the sale begins later"`,
    )
    .action(async (wanted: string, options: MoveOptions) => {
      const settings = readSettings();
      const moved = await withDatabase(settings.databaseUrl, async (pool): Promise<ScheduleMoved> => {
        const ref = await findOne(pool, wanted);
        const story = await messageStory(pool, ref);
        if (story === null) throw notKnown(wanted);
        return durably(pool, (sql) =>
          moveSchedule(sql, {
            tenantId: String(story.message.tenant_id),
            messageId: ref.id,
            to: options.to,
            zone: options.zone ?? null,
            wholeRequest: options.wholeRequest ?? false,
            who: options.by,
            why: options.why,
          }),
        );
      });
      if (moved.answer === 'moved') await wakeLanes(settings.redisUrl, [moved.lane]);
      const done = moved.answer === 'moved' || moved.answer === 'asked';
      if (!done) process.exitCode = 1;
      if (options.json === true) json(moved);
      else if (done) data(moveLine(moved));
      else talk(moveLine(moved));
    });
  schedule
    .command('list')
    .description('show what providers hold for us until its time, and what they were asked about it')
    .option('--limit <n>', 'at most so many', wholeBetween(1, 100_000), 1_000)
    .option('--json', 'as JSON')
    .action(async (options: { limit: number; json?: boolean }) => {
      const held = await withDatabase(readSettings().databaseUrl, (pool) => heldSchedules(pool, options.limit));
      if (options.json === true) json(held);
      else if (held.length === 0) talk('No provider holds anything for us.');
      else data(heldTable(held));
    });
}
