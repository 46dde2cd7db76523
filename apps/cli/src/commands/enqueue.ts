import { extname } from 'node:path';
import { MESSAGE_CLASSES, type MessageClass } from '@sendledger/core';
import { createProducer, MESSAGE_FORMATS, type MessageFormat } from '@sendledger/producer';
import { type Command, Option } from 'commander';
import { withDatabase } from '../database.ts';
import { type EnqueueSummary, enqueueFile, type LineRefusal } from '../enqueue-file.ts';
import { CliFailure } from '../failure.ts';
import { openInput } from '../input.ts';
import { matching } from '../options.ts';
import { progressOn } from '../output/progress.ts';
import { count, counted } from '../output/words.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';

interface Options {
  format?: MessageFormat;
  tenant?: string;
  class?: MessageClass;
  eventType?: string;
  sender?: string;
  region?: string;
  route?: string;
  json?: boolean;
}

const SOME_REFUSED = 2;

export function addEnqueueCommand(program: Command): void {
  program
    .command('enqueue')
    .description('enqueue the messages of a CSV or NDJSON file')
    .argument('<file>', 'file, - for standard input')
    .addOption(new Option('--format <format>', 'default: by the file extension').choices(MESSAGE_FORMATS))
    .option('--tenant <tenant>', 'of lines that name none')
    .addOption(new Option('--class <class>', 'of lines that name none').choices(MESSAGE_CLASSES))
    .option('--event-type <type>', 'of lines that name none')
    .option('--sender <sender>', 'of lines that name none')
    .option('--route <name>', 'of lines that name none')
    .option(
      '--region <country>',
      'ISO 3166 country for numbers without a country code, where the tenant has none',
      matching(/^[A-Z]{2}$/, 'Two capital letters, e.g. IN.'),
    )
    .option('--json', 'one JSON object on standard output instead of a summary')
    .addHelpText(
      'after',
      `
Fields: recipient (or to), body, or template with its variables; event_id, event_type, class, sender, tenant, step, bucket,
scheduled_for, submit_by, route, campaign, template_version (and channel, scheduled_tz, event_version, on_proven_absent,
dlt_entity_id, dlt_template_id). In CSV every other column is a template variable, an empty cell is none, and params.NAME is the variable
NAME even where a field has that name; in NDJSON variables stand in the object "params". All values are text.

Every line needs an event_id: with it the same file may be enqueued again, after a crash too, and nothing is sent twice.
A bad line is reported on standard error with its number, and the rest goes on.

Exit code: 0 every line is in the ledger, 2 some were refused, 1 the reading or writing failed.

Examples:
  sendledger enqueue orders.csv --tenant shop --class transactional --event-type order.shipped --region IN
  psql -qAtc "select …" | sendledger enqueue - --format ndjson --json`,
    )
    .action(async (file: string, options: Options) => {
      const settings = readSettings();
      const format = options.format ?? formatOf(file);
      const { stream, octets } = await openInput(file);
      const progress = progressOn(process.stderr, octets);
      const producer = createProducer({
        redisUrl: settings.redisUrl,
        tenant: options.tenant,
        defaultRegion: options.region,
        onProblem: 'report',
      });
      let summary: EnqueueSummary;
      try {
        summary = await withDatabase(settings.databaseUrl, (pool) =>
          enqueueFile(pool, producer, stream, format, options, {
            refused(refusal) {
              progress.clear();
              talk(refusalLine(refusal));
            },
            advanced: progress.update,
          }),
        );
      } finally {
        progress.clear();
        await producer.close();
      }
      if (options.json === true) json(summary);
      else data(summaryLine(summary));
      if (producer.wakeFailures > 0)
        talk('Redis did not answer: the workers find the messages when they next poll. Nothing is lost.');
      if (summary.invalid + summary.conflicts > 0) process.exitCode = SOME_REFUSED;
    });
}

function formatOf(file: string): MessageFormat {
  switch (extname(file).toLowerCase()) {
    case '.csv':
      return 'csv';
    case '.ndjson':
    case '.jsonl':
      return 'ndjson';
    default:
      throw new CliFailure(
        file === '-'
          ? 'Say what standard input is: --format csv or --format ndjson.'
          : `The extension of ${file} says neither CSV nor NDJSON: give --format csv or --format ndjson.`,
      );
  }
}

function refusalLine({ line, field, reason, message }: LineRefusal): string {
  return `line ${line}: ${field === 'line' ? '' : `${field}: `}${reason}: ${message}`;
}

function summaryLine({ lines, accepted, created, duplicates, conflicts, invalid }: EnqueueSummary): string {
  const refused = conflicts + invalid;
  const parts = [
    `${counted(lines, 'line')}: ${count(accepted)} accepted (${count(created)} created, ${count(duplicates)} there before)`,
  ];
  if (refused > 0)
    parts.push(`${count(refused)} refused (${count(invalid)} invalid, ${counted(conflicts, 'conflict')})`);
  return parts.join(', ');
}
