import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import type { Check } from '../doctor/check.ts';
import { checkLine } from '../output/check-line.ts';
import { counted } from '../output/words.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check everything a message needs on its way, and say what to do about it')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
One line a check: ok, warning (it works, somebody should know) or problem (it does not). Exit code 1 if there is a problem.

Examples:
  sendledger doctor
  sendledger doctor --json | jq '.checks[] | select(.status != "ok")'`,
    )
    .action(async (options: { json?: boolean }) => {
      const settings = readSettings();
      // Loaded here because the facts of the server come with the whole ORM, and every other command would wait for it.
      const { examine } = await import('../doctor/examine.ts');
      const checks: Check[] = [];
      await withDatabase(settings.databaseUrl, async (pool) => {
        for await (const check of examine(pool, settings)) {
          checks.push(check);
          if (options.json !== true) data(checkLine(check));
        }
      });
      const problems = checks.filter((check) => check.status === 'problem').length;
      const warnings = checks.filter((check) => check.status === 'warning').length;
      if (options.json === true) json({ ok: problems === 0, problems, warnings, checks });
      else talk(`${counted(checks.length, 'check')}: ${counted(problems, 'problem')}, ${counted(warnings, 'warning')}`);
      if (problems > 0) process.exitCode = 1;
    });
}
