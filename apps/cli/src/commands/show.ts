import { findMessages, hideNumbers, type MessageStory, messageStory } from '@sendledger/core/ledger';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { MESSAGE_HELP, notKnown } from '../find-message.ts';
import { matchLines, storyLines } from '../output/story-lines.ts';
import { data, json } from '../output/write.ts';
import { readSettings } from '../settings.ts';

export function addShowCommand(program: Command): void {
  program
    .command('show')
    .description('the story of one message')
    .argument('<id>', MESSAGE_HELP)
    .option('--reveal', "show recipients, the provider's raw reply and the records as they came")
    .option('--json', 'as JSON: a list, also for one')
    .addHelpText(
      'after',
      `
The text of a message is never shown. Where several messages fit, they are listed, the newest first, at most 20.

Examples:
  sendledger show 1042
  sendledger show order-7781
  sendledger show +919876543210 --reveal`,
    )
    .action(async (id: string, options: { reveal?: boolean; json?: boolean }) => {
      const stories = await withDatabase(readSettings().databaseUrl, async (pool) => {
        const found: MessageStory[] = [];
        for (const ref of await findMessages(pool, id)) {
          const story = await messageStory(pool, ref);
          if (story !== null) found.push(options.reveal === true ? story : hideNumbers(story));
        }
        return found;
      });
      if (stories.length === 0) throw notKnown(id);
      const [story] = stories;
      if (options.json === true) json(stories);
      else if (stories.length === 1 && story !== undefined) data(storyLines(story).join('\n'));
      else data(matchLines(stories).join('\n'));
    });
}
