import { durably, fallBack, openReview, overdue, undeliverable } from '@sendledger/core/ledger';
import { type AppContext, Counter, type Round } from '@sendledger/worker';

/** A message that is neither sent nor sent another way, for a reason that its sender cannot have meant. */
const FOR_A_PERSON: ReadonlySet<string> = new Set(['no_route', 'doubtful']);

/**
 * Sends another way what was refused or failed, or was not delivered in time where its sender accepts a duplicate: each message in a
 * transaction of its own, so that one that cannot be written holds up no other. Never what is unknown.
 */
export function fallbackRound(context: AppContext, batch: number): () => Promise<Round> {
  const answers = new Counter({
    name: 'sendledger_fallbacks_total',
    help: 'Messages with a fallback that were refused, failed or not delivered in time, by what became of it.',
    labelNames: ['answer'],
    registers: [context.registry],
  });

  return async () => {
    const late = await durably(context.pool, 'overdue', (sql) => overdue(sql, batch));
    const lost = await undeliverable(context.sql, batch);
    for (const message of [...lost, ...late]) {
      try {
        const taken = await durably(context.pool, 'fallback', async (sql) => {
          // Somebody's open transaction may hold the key: the others do not wait for it.
          await sql.query(`set local lock_timeout = '2s'`);
          const answer = await fallBack(sql, message);
          if (FOR_A_PERSON.has(answer.answer))
            await openReview(sql, {
              kind: 'fallback_not_taken',
              subject: `message ${message.id}`,
              message,
              evidence: {
                reason: answer.reason,
                remedy: 'enqueue it as a new event, or replay it, if it is still wanted',
              },
            });
          return answer;
        });
        answers.inc({ answer: taken.answer });
        const line = { attempt_key: message.attemptKey, answer: taken.answer, reason: taken.reason };
        if (taken.answer !== 'created') {
          context.log.warn(line, 'fallback_not_taken');
          continue;
        }
        context.log.info({ replaces: message.attemptKey, attempt_key: taken.attemptKey }, 'fallback_taken');
        if (taken.lane !== null) void context.wakeUps.send('claim', taken.lane);
      } catch (err) {
        context.log.error({ err, attempt_key: message.attemptKey }, 'fallback_failed');
      }
    }
    return lost.length >= batch || late.length >= batch ? 'more' : 'none';
  };
}
