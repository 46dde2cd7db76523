import type { MessageStory } from '@sendledger/core/ledger';
import { maskRecipient } from './words.ts';

/** May hold the numbers of everyone in the request, in whatever form the provider writes them. */
const AS_IT_CAME = new Set(['raw_reply', 'evidence']);

/** Digits of a number that still name it when the country code is left off. */
const NATIONAL_DIGITS = 10;

/** The same story without numbers: the recipient masked wherever it stands, and what came from outside left out. */
export function hideNumbers(story: MessageStory): MessageStory {
  const recipient = String(story.message.recipient ?? '');
  const forms = [recipient, recipient.slice(-NATIONAL_DIGITS)].filter((form) => form.length >= 6);
  const hide = (row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      Object.entries(row)
        .filter(([name]) => !AS_IT_CAME.has(name))
        .map(([name, value]) => [name, typeof value === 'string' ? masked(value, forms) : value]),
    );
  return {
    message: hide(story.message),
    submission: story.submission === null ? null : hide(story.submission),
    receipts: story.receipts.map(hide),
    reviews: story.reviews.map(hide),
    adjustments: story.adjustments.map(hide),
    decisions: story.decisions.map(hide),
  };
}

function masked(text: string, forms: readonly string[]): string {
  return forms.reduce((hidden, form) => hidden.replaceAll(form, maskRecipient(form)), text);
}
