import { durably, type MarkedSubmission, openReview, type SubmissionOutcome } from '@sendledger/core/ledger';
import type { Outcome } from '@sendledger/gateway';
import type { AppContext } from '@sendledger/worker';

type ReviewItem = Parameters<typeof openReview>[1];

/** What an outcome shows that only a person can settle. Pure. */
export function reviewsOf(submission: MarkedSubmission, outcome: Outcome, judged: SubmissionOutcome): ReviewItem[] {
  const about = { routeId: submission.routeId, submission };
  const items: ReviewItem[] = [];
  if (outcome.kind === 'accepted' && outcome.strangers.length > 0)
    items.push({
      ...about,
      kind: 'stranger_in_reply',
      subject: `submission ${submission.id}`,
      evidence: { numbers: outcome.strangers.length },
    });
  if (outcome.kind === 'ambiguous' && outcome.unmappedCode !== null)
    items.push({
      ...about,
      kind: 'unmapped_code',
      once: true,
      subject: `route ${submission.routeId} code ${outcome.unmappedCode}`,
      evidence: { code: outcome.unmappedCode, reason: outcome.reply.reason, first_submission: submission.id },
    });
  if (outcome.kind === 'refused' && outcome.scope === 'permanent' && outcome.reply.httpStatus === null)
    items.push({
      ...about,
      kind: 'not_buildable',
      subject: `submission ${submission.id}`,
      evidence: { reason: outcome.reply.reason },
    });
  if (outcome.kind === 'refused' && outcome.scope === 'account')
    items.push({
      ...about,
      kind: 'account_refused',
      subject: `route ${submission.routeId} code ${outcome.reply.statusCode}`,
      evidence: { code: outcome.reply.statusCode, reason: outcome.reply.reason },
    });
  for (const row of judged.rows)
    if (row.reason === 'attempts_exhausted')
      items.push({
        ...about,
        kind: 'attempts_exhausted',
        subject: `message ${row.id}`,
        message: { id: row.id, createdAt: row.createdAt },
        evidence: { cause: row.cause, remedy: 'replay it once the provider takes it again, if it is still wanted' },
      });
  return items;
}

/** Each by itself: an outcome that is written stays so, whether its questions can be asked or not. */
export async function openReviews({ pool, log }: AppContext, items: readonly ReviewItem[]): Promise<void> {
  for (const item of items) {
    try {
      await durably(pool, (sql) => openReview(sql, item));
    } catch (err) {
      log.warn({ err, kind: item.kind }, 'review_not_opened');
    }
  }
}
