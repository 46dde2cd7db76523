import { findMessages, messageStory, type RowRef, type Sql } from '@sendledger/core/ledger';
import { CliFailure } from './failure.ts';

/** What a person may have in hand of a message. */
export const MESSAGE_HELP =
  'message id, attempt key, business key, event id, recipient, provider transaction or message id';

export function notKnown(wanted: string): CliFailure {
  return new CliFailure(`No message is known by ${wanted}. Ids are compared as text, leading zeros and case included.`);
}

/** The one message that is meant, where something is done to it. @throws CliFailure where none or several fit */
export async function findOne(sql: Sql, wanted: string): Promise<RowRef> {
  const found = await findMessages(sql, wanted);
  const [first] = found;
  if (first === undefined) throw notKnown(wanted);
  if (found.length === 1) return first;
  const named: string[] = [];
  for (const ref of found) {
    const story = await messageStory(sql, ref);
    named.push(`${ref.id} (${story?.message.state ?? 'gone'})`);
  }
  throw new CliFailure(`Several messages are known by ${wanted}: ${named.join(', ')}. Name one by its id.`);
}
