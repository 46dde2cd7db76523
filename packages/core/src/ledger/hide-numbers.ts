import { maskEvidence, maskKnown, maskNumber, maskNumbers } from './mask-numbers.ts';
import type { MessageStory } from './message-story.ts';

type Row = Readonly<Record<string, unknown>>;

/** May hold the numbers of everyone in the request, in whatever form the provider writes them. */
const AS_IT_CAME = new Set(['raw_reply', 'evidence']);

/**
 * The same story without numbers: the recipient masked wherever it stands.
 *
 * @param asItCame what a provider wrote: left out, or with everything masked that may be anybody's number.
 */
export function hideNumbers(story: MessageStory, asItCame: 'left out' | 'masked' = 'left out'): MessageStory {
  const recipient = String(story.message.recipient ?? '');
  const known = [recipient];
  const evidence = (value: unknown) =>
    typeof value === 'string' ? maskNumbers(maskKnown(value, known)) : maskEvidence(value, known);
  const hide = (row: Row): Row =>
    Object.fromEntries(
      Object.entries(row)
        .filter(([name]) => asItCame === 'masked' || !AS_IT_CAME.has(name))
        .map(([name, value]) => {
          if (name === 'recipient') return [name, maskNumber(recipient)];
          if (AS_IT_CAME.has(name)) return [name, evidence(value)];
          return [name, typeof value === 'string' ? maskKnown(value, known) : value];
        }),
    );
  return {
    message: hide(story.message),
    submission: story.submission === null ? null : hide(story.submission),
    receipts: story.receipts.map(hide),
    reviews: story.reviews.map((review) => ({ ...hide(review), subject: maskNumbers(String(hide(review).subject)) })),
    adjustments: story.adjustments.map(hide),
    decisions: story.decisions.map(hide),
    cancellations: story.cancellations.map(hide),
    chain: story.chain,
  };
}
