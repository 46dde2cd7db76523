import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { readStatus } from '../ledger-status.ts';
import { instant } from '../options.ts';
import { statusPage } from '../output/status-page.ts';
import { data, json } from '../output/write.ts';
import { readSettings } from '../settings.ts';

const REFRESH_MS = 1_000;
const DAYS_BACK = 30;
const TO_THE_TOP = '\x1b[H\x1b[J';

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('what is in the ledger, what it cost, what waits')
    .option('--since <instant>', `count messages made since then (default: ${DAYS_BACK} days ago)`, instant)
    .option('--watch', 'refresh every second, until Ctrl-C')
    .option('--json', 'as JSON; with --watch one object a line')
    .addHelpText(
      'after',
      `
Money is never added up across currencies.

Examples:
  sendledger status
  sendledger status --since 2026-03-01T00:00:00+05:30 --json
  sendledger status --watch`,
    )
    .action(async (options: { since?: Date; watch?: boolean; json?: boolean }) => {
      const settings = readSettings();
      await withDatabase(settings.databaseUrl, async (pool) => {
        do {
          const since = options.since ?? new Date(Date.now() - DAYS_BACK * 86_400_000);
          const status = await readStatus(pool, since);
          if (options.json === true) options.watch === true ? data(JSON.stringify(status)) : json(status);
          else data(`${options.watch === true && process.stdout.isTTY ? TO_THE_TOP : ''}${statusPage(status)}`);
          if (options.watch === true) await pause(REFRESH_MS);
        } while (options.watch === true);
      });
    });
}
