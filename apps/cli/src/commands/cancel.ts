import { MESSAGE_CLASSES, type MessageClass } from '@sendledger/core';
import { type CancelTarget, cancelCovered, durably, previewCancellation } from '@sendledger/core/ledger';
import { type Command, Option } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { instant, matching, someText, wholeBetween } from '../options.ts';
import { cancelLines, previewLine } from '../output/cancel-lines.ts';
import { data, json } from '../output/write.ts';
import { readSettings } from '../settings.ts';
import { wakeLanes } from '../wake.ts';

const messageId = matching(/^[0-9]{1,18}$/, 'The number of a message, as "sendledger show" gives it.');
const businessKey = matching(/^[0-9a-f]{64}$/, '64 hexadecimal digits, as "sendledger show" gives them.');

interface CancelOptions {
  tenant: string;
  message?: string;
  key?: string;
  event?: readonly string[];
  campaign?: string;
  tenantAll?: boolean;
  class?: MessageClass;
  coversUntil?: Date;
  by: string;
  why: string;
  list: number;
  dryRun?: boolean;
  json?: boolean;
}

/** Some messages were sent already, or may have been. */
const NOT_ALL_CANCELLED = 3;

export function addCancelCommand(program: Command): void {
  program
    .command('cancel')
    .description('stop what has not been sent')
    .requiredOption('--tenant <tenant>', 'whose messages', someText)
    .option('--message <id>', 'one message', messageId)
    .option('--key <business-key>', 'the message of one event to one recipient', businessKey)
    .option('--event <type-and-id...>', 'all messages of an event: its type and its id')
    .option('--campaign <id>', 'all messages of a campaign', someText)
    .option('--tenant-all', 'everything of the tenant')
    .addOption(new Option('--class <class>', 'with --tenant-all: only this class').choices(MESSAGE_CLASSES))
    .option(
      '--covers-until <instant>',
      'with --campaign or --tenant-all: what is enqueued later is not covered; default: of a tenant up to the answer, of a campaign all',
      instant,
    )
    .requiredOption('--by <name>', 'who asks; kept', someText)
    .requiredOption('--why <text>', 'why; kept', someText)
    .option('--list <n>', 'name at most so many messages', wholeBetween(0, 100_000), 1_000)
    .option('--dry-run', 'only count what would be covered')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
When it answers, no request of a covered message leaves any more; messages that are enqueued later are covered too, replays
are not. Each message is cancelled, too_late (it was sent, is leaving, or ended otherwise) or unknown (nobody knows yet whether
it was sent).

Exit code 0 when everything is cancelled, 3 when some were too late or unknown, 1 when nothing is known by that name.

Examples:
  sendledger cancel --tenant shop --message 1042 --by asha --why "the customer called"
  sendledger cancel --tenant shop --event order.shipped 7781 --by asha --why "shipped by mistake"
  sendledger cancel --tenant shop --campaign spring --dry-run --by asha --why "wrong price"
  sendledger cancel --tenant shop --tenant-all --class promotional --by asha --why "ticket 4711"`,
    )
    .action(async (options: CancelOptions) => {
      const target = targetOf(options);
      const settings = readSettings();
      if (options.dryRun === true) {
        const counts = await withDatabase(settings.databaseUrl, (pool) =>
          previewCancellation(pool, options.tenant, target),
        );
        if (options.json === true) json({ dryRun: true, counts });
        else data(previewLine(counts));
        process.exitCode = exitCode(counts);
        return;
      }
      const report = await withDatabase(settings.databaseUrl, (pool) =>
        cancelCovered(
          (work) => durably(pool, work),
          { tenantId: options.tenant, target, by: options.by, why: options.why },
          { list: options.list },
        ),
      );
      await wakeLanes(settings.redisUrl, [...report.lanes]);
      if (options.json === true) json({ ...report, lanes: [...report.lanes] });
      else data(cancelLines(report).join('\n'));
      process.exitCode = exitCode(report.counts);
    });
}

/** Exactly one thing is cancelled; what goes with another one is a slip of the hand. */
function targetOf(options: CancelOptions): CancelTarget {
  const { message, key, event, campaign, tenantAll } = options;
  const coversUntil = options.coversUntil ?? null;
  const named: CancelTarget[] = [];
  if (message !== undefined) named.push({ kind: 'message', messageId: message });
  if (key !== undefined) named.push({ kind: 'key', businessKey: key });
  if (event !== undefined) {
    const [eventType, eventId, ...more] = event;
    if (eventType === undefined || eventId === undefined || more.length > 0)
      throw new CliFailure('--event takes two words: the type and the id, e.g. --event order.shipped 7781');
    named.push({ kind: 'event', eventType, eventId });
  }
  if (campaign !== undefined) named.push({ kind: 'campaign', campaignId: campaign, coversUntil });
  if (tenantAll === true) named.push({ kind: 'tenant', messageClass: options.class ?? null, coversUntil });
  const [target] = named;
  if (target === undefined || named.length > 1)
    throw new CliFailure('Say one of --message, --key, --event, --campaign and --tenant-all.');
  if (options.class !== undefined && target.kind !== 'tenant') throw new CliFailure('--class goes with --tenant-all.');
  if (coversUntil !== null && target.kind !== 'tenant' && target.kind !== 'campaign')
    throw new CliFailure('--covers-until goes with --campaign and --tenant-all.');
  return target;
}

function exitCode(counts: { cancelled: number; too_late: number; unknown: number }): number {
  if (counts.too_late + counts.unknown > 0) return NOT_ALL_CANCELLED;
  return counts.cancelled > 0 ? 0 : 1;
}
