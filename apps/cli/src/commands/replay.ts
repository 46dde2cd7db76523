import { durably, type ReplayAnswer, replay } from '@sendledger/core/ledger';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { findOne, MESSAGE_HELP } from '../find-message.ts';
import { instant, someText } from '../options.ts';
import { replayLine } from '../output/replay-line.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';
import { wakeLanes } from '../wake.ts';

interface ReplayOptions {
  by: string;
  why: string;
  mayDuplicate?: boolean;
  route?: string;
  submitBy?: Date;
  json?: boolean;
}

export function addReplayCommand(program: Command): void {
  program
    .command('replay')
    .description('send a message again, if it cannot have arrived')
    .argument('<message>', MESSAGE_HELP)
    .requiredOption('--by <name>', 'who asks', someText)
    .requiredOption('--why <text>', 'why; kept in the audit log, also where it is refused', someText)
    .option('--may-duplicate', 'it was billed and may have arrived, and a second one is acceptable')
    .option('--route <name>', 'through another route; default: its own')
    .option('--submit-by <instant>', 'past it the new message is worthless; default: what its lane says', instant)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
The new message has its own id and attempt key and says what it replaces. Refused, with exit code 1, while the first may
arrive: nobody but evidence or a review makes an unknown message one that was not sent.

Examples:
  sendledger replay 1042 --by asha --why "the customer corrected the address"
  sendledger replay 1042 --by asha --why "no receipt for three days" --may-duplicate --route backup`,
    )
    .action(async (wanted: string, options: ReplayOptions) => {
      const settings = readSettings();
      // Committed also where it was refused: who asked for what is kept.
      const answer = await withDatabase(settings.databaseUrl, async (pool) => {
        const message = await findOne(pool, wanted);
        return durably(pool, (sql) =>
          replay(sql, {
            message,
            who: options.by,
            why: options.why,
            mayDuplicate: options.mayDuplicate ?? false,
            route: options.route ?? null,
            submitBy: options.submitBy ?? null,
          }),
        );
      });
      await wakeLanes(settings.redisUrl, [answer.lane]);
      if (answer.answer !== 'created') process.exitCode = 1;
      if (options.json === true) json(asJson(answer));
      else if (answer.answer === 'created') data(replayLine(answer));
      else talk(replayLine(answer));
    });
}

function asJson(answer: ReplayAnswer): unknown {
  const { message, replaces, attemptKey, reason } = answer;
  return {
    answer: answer.answer,
    replaces: replaces.id,
    id: message?.id ?? null,
    createdAt: message?.createdAt ?? null,
    attemptKey,
    reason,
  };
}
