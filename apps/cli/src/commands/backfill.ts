import { userInfo } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import {
  backfillAccounts,
  backfillBadRows,
  backfillOrphans,
  backfillRun,
  backfillRuns,
  cancelBackfill,
  durably,
  maskEvidence,
  type Sql,
  startBackfill,
} from '@sendledger/core/ledger';
import { hasDayReport } from '@sendledger/gateway/providers';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { matching, someText, wholeBetween } from '../options.ts';
import {
  backfillPage,
  backfillTable,
  badRowTable,
  dayTable,
  orphanTable,
  recipientText,
} from '../output/backfill-lines.ts';
import { counted } from '../output/words.ts';
import { data, json, talk } from '../output/write.ts';
import { routeNamed } from '../route-named.ts';
import { readSettings } from '../settings.ts';
import { wakeBackfill } from '../wake.ts';

const REFRESH_MS = 1_000;
const TO_THE_TOP = '\x1b[H\x1b[J';

const day = matching(/^\d{4}-\d{2}-\d{2}$/, 'Give a day, e.g. 2026-07-17.');
const runId = matching(/^[1-9]\d{0,17}$/, 'The number of a run, as "sendledger backfill status" shows it.');
const RUN_HELP = 'number of the run';

export function addBackfillCommands(program: Command): void {
  const backfill = program
    .command('backfill')
    .description("read the providers' reports of whole days, e.g. after an outage");
  addStart(backfill);
  addStatus(backfill);
  addFindings(backfill);
  backfill
    .command('cancel')
    .description('read no further day of a run; what is stored stays')
    .argument('<run>', RUN_HELP, runId)
    .option('--by <name>', 'who asks; kept', someText, whoAmI())
    .action(async (id: string, options: { by: string }) => {
      const open = await withDatabase(readSettings().databaseUrl, (pool) =>
        durably(pool, (sql) => cancelBackfill(sql, id, options.by)),
      );
      if (open === null) throw noRun(id);
      data(open === 0 ? `run ${id} had ended already` : `run ${id} cancelled, ${counted(open, 'day')} open`);
    });
}

interface StartOptions {
  from: string;
  to: string;
  route?: string;
  by: string;
  json?: boolean;
}

function addStart(backfill: Command): void {
  backfill
    .command('start')
    .description('make a run: one checkpoint a day and account, one call each')
    .requiredOption('--from <day>', 'first day, by the clock of the provider', day)
    .requiredOption('--to <day>', 'last day, included; it must be over there', day)
    .option('--route <name>', 'only the account of this route; default: every account that has a report of a day')
    .option('--by <name>', 'who asks; kept', someText, whoAmI())
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
The workers of "npm run start:backfill" take its days one at a time. What a day says goes the way of any receipt, so that a day
which was read before changes nothing. See it with "sendledger backfill status".

Example:
  sendledger backfill start --from 2026-07-01 --to 2026-07-30 --route main`,
    )
    .action(async (options: StartOptions) => {
      const settings = readSettings();
      const made = await withDatabase(settings.databaseUrl, (pool) =>
        durably(pool, async (sql) => {
          const accounts = await accountsFor(sql, options.route);
          const { id, checkpoints } = await startBackfill(sql, { ...options, accounts, who: options.by });
          return { run: id, checkpoints, accounts: accounts.map((a) => `${a.provider}/${a.account}`) };
        }),
      );
      await wakeBackfill(settings.redisUrl);
      if (options.json === true) json(made);
      else data(`run ${made.run}: ${counted(made.checkpoints, 'call')} to ${made.accounts.join(', ')}`);
    });
}

async function accountsFor(sql: Sql, route: string | undefined) {
  const accounts = await backfillAccounts(sql, route === undefined ? null : await routeNamed(sql, route));
  const able = accounts.filter(({ provider }) => hasDayReport(provider));
  if (able.length > 0) return able;
  if (route === undefined) throw new CliFailure('There is no route whose provider has a report of a day.');
  throw new CliFailure(
    `The provider of route ${route} (${accounts[0]?.provider}) has no report of a day. Its receipts come by polls and pushes alone.`,
  );
}

function addStatus(backfill: Command): void {
  backfill
    .command('status')
    .description('how far the runs are; of one run, its sums and what holds it up')
    .argument('[run]', `${RUN_HELP}; left out: all`, runId)
    .option('--watch', 'refresh every second; of one run until it ends')
    .option('--days', 'of one run: every day')
    .option('--json', 'as JSON; with --watch one object a line')
    .action(async (id: string | undefined, options: { watch?: boolean; days?: boolean; json?: boolean }) => {
      await withDatabase(readSettings().databaseUrl, async (pool) => {
        for (;;) {
          const shown = id === undefined ? await allRuns(pool) : await oneRun(pool, id, options.days === true);
          if (options.json === true) options.watch === true ? data(JSON.stringify(shown.value)) : json(shown.value);
          else if (shown.page === null) talk('There is no backfill yet.');
          else data(`${options.watch === true && process.stdout.isTTY ? TO_THE_TOP : ''}${shown.page}`);
          if (options.watch !== true || shown.ended) return;
          await pause(REFRESH_MS);
        }
      });
    });
}

async function allRuns(sql: Sql) {
  const runs = await backfillRuns(sql);
  return { value: runs as unknown, page: runs.length === 0 ? null : backfillTable(runs), ended: false };
}

async function oneRun(sql: Sql, id: string, days: boolean) {
  const run = await backfillRun(sql, id);
  if (run === null) throw noRun(id);
  const page = days ? `${backfillPage(run)}\n\n${dayTable(run)}` : backfillPage(run);
  return { value: run as unknown, page, ended: run.state !== 'running' };
}

function addFindings(backfill: Command): void {
  backfill
    .command('orphans')
    .description('records of a run that match no message: sent by somebody else, or by a row that is lost')
    .argument('<run>', RUN_HELP, runId)
    .option('--limit <n>', 'at most so many', wholeBetween(1, 100_000), 1_000)
    .option('--reveal', 'show numbers whole')
    .option('--json', 'as JSON')
    .action(async (id: string, options: { limit: number; reveal?: boolean; json?: boolean }) => {
      const orphans = await ofRun(id, (sql) => backfillOrphans(sql, id, options.limit));
      const reveal = options.reveal === true;
      if (options.json === true)
        json(
          orphans.map(({ hash, recipient, ...one }) => ({
            ...one,
            recipient: recipientText(recipient, reveal),
            receipt: hash.toString('hex'),
          })),
        );
      else if (orphans.length === 0) talk('Every record matches a message.');
      else data(orphanTable(orphans, reveal));
    });
  backfill
    .command('bad-rows')
    .description('rows of a run that could not be read, the first of each day')
    .argument('<run>', RUN_HELP, runId)
    .option('--limit <n>', 'at most so many', wholeBetween(1, 100_000), 1_000)
    .option('--reveal', 'with --json: show numbers whole')
    .option('--json', 'as JSON, with what was kept of each')
    .action(async (id: string, options: { limit: number; reveal?: boolean; json?: boolean }) => {
      const rows = await ofRun(id, (sql) => backfillBadRows(sql, id, options.limit));
      if (options.json === true)
        json(
          options.reveal === true ? rows : rows.map((row) => ({ ...row, evidence: maskEvidence(row.evidence, []) })),
        );
      else if (rows.length === 0) talk('Every row could be read.');
      else data(badRowTable(rows));
    });
}

function ofRun<T>(id: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  return withDatabase(readSettings().databaseUrl, async (pool) => {
    if ((await backfillRun(pool, id)) === null) throw noRun(id);
    return work(pool);
  });
}

const noRun = (id: string) => new CliFailure(`There is no backfill ${id}. See: sendledger backfill status`);

function whoAmI(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return 'operator';
  }
}
