import { ensureMonths, missingMonths } from '@sendledger/core/ledger';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { wholeBetween } from '../options.ts';
import { data } from '../output/write.ts';
import { readSettings } from '../settings.ts';

const MONTHS_AHEAD = 3;

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to the version of this build, and make the months ahead')
    .option('--environment <name>', 'name of this environment (default: SENDLEDGER_ENVIRONMENT, else development)')
    .option('--ahead <months>', 'months to have partitions for, beyond this one', wholeBetween(1, 120), MONTHS_AHEAD)
    .addHelpText(
      'after',
      `
Safe at any time and many times at once: one process applies, the others wait and find nothing to do.
The environment is written once, into an empty database. A copy started under another name does not send.

Examples:
  sendledger migrate
  sendledger migrate --environment production --ahead 12`,
    )
    .action(async (options: { environment?: string; ahead: number }) => {
      const settings = readSettings();
      // Loaded here because the migrator brings the whole ORM, and every other command would wait for it.
      const { migrate } = await import('@sendledger/core/schema');
      const { applied } = await migrate(settings.databaseUrl, options.environment ?? settings.environment);
      const months = await withDatabase(settings.databaseUrl, async (pool) => {
        const missing = await missingMonths(pool, options.ahead);
        if (missing.length > 0) await ensureMonths(pool, options.ahead);
        return missing;
      });
      for (const name of applied) data(`applied ${name}`);
      for (const leaf of months) data(`made ${leaf}`);
      if (applied.length === 0 && months.length === 0) data('up to date');
    });
}
