import type { ResolveAnswer } from '@sendledger/core/ledger';
import { replayLine } from './replay-line.ts';
import { counted } from './words.ts';

/** What became of a decision: its messages, those that it did not find unknown, and what was sent again. */
export function resolvedLines(id: string, as: string, answer: ResolveAnswer): string[] {
  switch (answer.answer) {
    case 'resolved':
      return [
        `review ${id} resolved as ${as}${as === 'leave' ? '' : `: ${counted(answer.moved.length, 'message')} moved`}`,
        ...answer.left.map((row) => `message ${row.id} was ${row.state} already, and is left as it is`),
        ...answer.replays.map(replayLine),
      ];
    case 'already_resolved':
      return [
        `Review ${id} was resolved as ${answer.resolution} by ${answer.resolvedBy} at ${answer.resolvedAt.toISOString()}: ${answer.note}. It is decided once.`,
      ];
    case 'not_found':
      return [`There is no review ${id}. See: sendledger review list --all`];
    case 'no_messages':
      return [
        `Review ${id} is about no message that could be called sent or not. Do what its remedy says, then resolve it: --as leave`,
      ];
    case 'nothing_unknown':
      return [
        `No message of review ${id} is unknown any more: ${answer.left.map((row) => `${row.id} is ${row.state}`).join(', ') || 'they are gone'}. Close it: --as leave`,
      ];
  }
}
