import { durably, listReview, type Resolution, resolveReview, reviewItem } from '@sendledger/core/ledger';
import { type Command, Option } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { matching, someText, wholeBetween } from '../options.ts';
import { resolvedLines } from '../output/resolved-lines.ts';
import { reviewLines } from '../output/review-lines.ts';
import { table } from '../output/table.ts';
import { age } from '../output/words.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';
import { wakeLanes } from '../wake.ts';

const itemId = matching(/^[0-9]{1,18}$/, 'The number of an item, as "sendledger review list" shows it.');
const AS: Readonly<Record<string, Resolution>> = { sent: 'sent', 'not-sent': 'not_sent', leave: 'leave' };

interface ResolveOptions {
  as: string;
  by: string;
  why: string;
  replay?: boolean;
  json?: boolean;
}

export function addReviewCommands(program: Command): void {
  const review = program.command('review').description('what only a person may decide');
  review
    .command('list')
    .description('what waits for a decision, the oldest first')
    .option('--kind <kind>', 'only this kind, e.g. no_final_state')
    .option('--all', 'also what was decided, the newest first')
    .option('--limit <n>', 'at most so many', wholeBetween(1, 10_000), 100)
    .option('--json', 'as JSON')
    .action(async (options: { kind?: string; all?: boolean; limit: number; json?: boolean }) => {
      const lines = await withDatabase(readSettings().databaseUrl, (pool) =>
        listReview(pool, {
          ...(options.kind === undefined ? {} : { kind: options.kind }),
          limit: options.limit,
          open: options.all !== true,
        }),
      );
      if (options.json === true) json(lines);
      else if (lines.length === 0) talk('Nothing waits for a decision.');
      else
        data(
          table(
            ['ID', 'KIND', 'SUBJECT', 'ROUTE', 'OPENED', 'RESOLUTION'],
            lines.map((line) => [
              line.id,
              line.kind,
              line.subject.replace(/\p{Cc}/gu, '?'),
              line.route ?? '',
              `${age((Date.now() - line.openedAt.getTime()) / 1000)} ago`,
              line.resolution === null ? '' : `${line.resolution} by ${line.resolvedBy}`,
            ]),
          ),
        );
    });
  review
    .command('show')
    .description('one item: its evidence, and what became of its messages')
    .argument('<id>', 'number of the item', itemId)
    .option('--reveal', 'show recipients')
    .option('--json', 'as JSON')
    .action(async (id: string, options: { reveal?: boolean; json?: boolean }) => {
      const item = await withDatabase(readSettings().databaseUrl, (pool) =>
        reviewItem(pool, id, { reveal: options.reveal === true }),
      );
      if (item === null) throw new CliFailure(`There is no review ${id}. See: sendledger review list --all`);
      if (options.json === true) json(item);
      else data(reviewLines(item).join('\n'));
    });
  review
    .command('resolve')
    .description('decide an item')
    .argument('<id>', 'number of the item', itemId)
    .addOption(
      new Option('--as <decision>', 'what became of its unknown messages')
        .choices(Object.keys(AS))
        .makeOptionMandatory(),
    )
    .requiredOption('--by <name>', 'who decides', someText)
    .requiredOption('--why <text>', 'why; kept with the item and in the audit log', someText)
    .option('--replay', 'with not-sent: send them again')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
sent:      its unknown messages are submitted and billed at their quote; a receipt is awaited.
not-sent:  they failed and are not billed; with --replay each is sent again.
leave:     the item is closed and no message is touched.

An item is decided once. A message that evidence settled meanwhile stays as it is.

Examples:
  sendledger review resolve 12 --as sent --by asha --why "the provider's panel shows it"
  sendledger review resolve 13 --as not-sent --replay --by asha --why "ticket 4711: never received"`,
    )
    .action(async (id: string, options: ResolveOptions) => {
      const as = AS[options.as] ?? 'leave';
      if (options.replay === true && as !== 'not_sent')
        throw new CliFailure('--replay goes with --as not-sent: what was sent or left as it is is not sent again.');
      const settings = readSettings();
      const answer = await withDatabase(settings.databaseUrl, (pool) =>
        durably(pool, (sql) =>
          resolveReview(sql, { id, as, by: options.by, why: options.why, replay: options.replay === true }),
        ),
      );
      if (answer.answer === 'resolved')
        await wakeLanes(
          settings.redisUrl,
          answer.replays.map((one) => one.lane),
        );
      else process.exitCode = 1;
      if (options.json === true) json(answer);
      else if (answer.answer === 'resolved') data(resolvedLines(id, options.as, answer).join('\n'));
      else talk(resolvedLines(id, options.as, answer).join('\n'));
    });
}
