import type { ReplayAnswer } from '@sendledger/core/ledger';

/** What a person does about a refusal, where there is something. */
const REMEDIES: Partial<Readonly<Record<ReplayAnswer['answer'], string>>> = {
  unknown: 'See: sendledger review list',
  may_duplicate: 'Run it again with --may-duplicate.',
  replaced: 'Name the one that replaced it.',
  open: 'Wait for its end, or cancel it.',
  redacted: 'Enqueue it as a new event.',
  too_late: 'Name a later --submit-by.',
  no_route: 'See: sendledger route list',
};

/** What became of a replay, in one line. */
export function replayLine(answer: ReplayAnswer): string {
  const { replaces, message, attemptKey, reason } = answer;
  if (answer.answer === 'created')
    return `message ${message?.id ?? ''} replaces ${replaces.id}, attempt ${attemptKey ?? ''}`;
  return `Message ${replaces.id} is not replayed (${answer.answer}): ${reason ?? ''}. ${REMEDIES[answer.answer] ?? ''}`.trim();
}
