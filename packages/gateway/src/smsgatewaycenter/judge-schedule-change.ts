import { cleanId } from '../normalise/clean-id.ts';
import { type Envelope, readEnvelope } from '../normalise/envelope.ts';
import { parseJson } from '../normalise/parse-json.ts';
import { readCount } from '../normalise/read-count.ts';
import { redactReply, redactText, type Secrets } from '../normalise/redact-reply.ts';
import type { ScheduleChangeAnswer } from '../schedule-change.ts';
import type { TransportReply } from '../transport.ts';
import { type ExtraCodes, refusalScopeOf, SUCCESS_CODE } from './codes.ts';
import { transactionsIn } from './named-transactions.ts';

/** What a change of a schedule asked for, as far as its reply is judged by it. */
export interface AskedChange {
  readonly uuid: string;
  readonly extraCodes: ExtraCodes;
  readonly secrets: Secrets;
}

/** Either side may have given up first (408), or an earlier request of ours is meant (409). */
const TWO_SIDED: ReadonlySet<number> = new Set([408, 409]);

/**
 * Judges a complete reply to a deletion or an update of a schedule. The form of neither is documented, so both families
 * are taken, and the rules are those of a send: only a complete object of the provider's own form, with a code, is a word
 * of the provider. A status of 5xx is ambiguous whatever its body says.
 */
export function judgeScheduleChange(received: TransportReply, asked: AskedChange): ScheduleChangeAnswer {
  const { status } = received;
  const envelope = readEnvelope(parseJson(received.body.toString('utf8')));
  if (status >= 500) return ambiguousChange(`server error ${status}`);
  if (envelope === null) return ambiguousChange(`HTTP ${status} without a reply of the provider's own form`);
  if (transactionsIn(envelope).some((value) => cleanId(value) !== asked.uuid))
    return ambiguousChange('a reply that names another transaction');
  if (envelope.verdict === 'error') return judgeError(status, envelope, asked);
  if (envelope.verdict !== 'success') return ambiguousChange(`the reply's status is ${envelope.verdict}`);
  if (status < 200 || status > 299) return ambiguousChange(`a success under HTTP ${status}`);
  if (envelope.code !== SUCCESS_CODE) return ambiguousChange('a success whose code is not 200');
  // Reads of the same family say by it that they found nothing.
  if (readCount((envelope.nested ?? envelope.flat).count) === 0)
    return ambiguousChange('a success that counts nothing');
  return { kind: 'done', raw: redactReply(received.body, asked.secrets) };
}

function judgeError(status: number, { code, reason }: Envelope, asked: AskedChange): ScheduleChangeAnswer {
  // Many gateways write `{"status":"error"}`; the code is what makes it the provider's.
  if (code === null) return ambiguousChange('an error without a code');
  if (code === SUCCESS_CODE) return ambiguousChange('an error with the code of success');
  if (TWO_SIDED.has(status) || status < 200 || (status >= 300 && status < 400))
    return ambiguousChange(`an error under HTTP ${status}`);
  return {
    kind: 'refused',
    statusCode: redactText(code, asked.secrets),
    reason: reason === null ? null : redactText(reason, asked.secrets),
    scope: refusalScopeOf(code, asked.extraCodes) === 'account' ? 'account' : null,
  };
}

export function ambiguousChange(detail: string): ScheduleChangeAnswer {
  return { kind: 'ambiguous', detail };
}
