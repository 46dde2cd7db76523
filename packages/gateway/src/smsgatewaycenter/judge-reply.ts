import { cleanId } from '../normalise/clean-id.ts';
import { type Envelope, readEnvelope } from '../normalise/envelope.ts';
import { parseJson } from '../normalise/parse-json.ts';
import { redactReply, redactText, type Secrets } from '../normalise/redact-reply.ts';
import { ambiguous, type Outcome, type RefusalScope, type Reply } from '../outcome.ts';
import { retryAfterMs } from '../retry-after.ts';
import type { TransportReply } from '../transport.ts';
import { accountForRecipients } from './account-for-recipients.ts';
import { type ExtraCodes, refusalScopeOf, SUCCESS_CODE } from './codes.ts';
import { transactionsIn } from './named-transactions.ts';

/** What a send asked for, as far as its reply is judged by it. */
export interface Asked {
  readonly recipients: readonly string[];
  readonly countryCode: string;
  readonly extraCodes: ExtraCodes;
  readonly secrets: Secrets;
  /** Wall clock, for a `Retry-After` that is a date in a reply without one of its own. */
  readonly nowMs: number;
}

/** The method stays POST: the same request is wanted elsewhere, so it was not processed here. */
const REDIRECTS: ReadonlySet<number> = new Set([307, 308]);
const THROTTLES: ReadonlySet<number> = new Set([425, 429]);
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403]);
/** Either side may have given up first (408), or an earlier request of ours is meant (409). */
const TWO_SIDED: ReadonlySet<number> = new Set([408, 409]);

/**
 * Judges a complete reply to a send. The content type is ignored and HTTP 200 is no success: only a complete JSON
 * object of the provider's own families decides, and everything else is ambiguous. A status of 5xx is ambiguous whatever
 * its body says, since a server may fail after it has queued the message.
 */
export function judgeReply(received: TransportReply, asked: Asked): Outcome {
  const envelope = readEnvelope(parseJson(received.body.toString('utf8')));
  const reply = evidenceOf(received, envelope, asked.secrets);
  if (envelope === null) return judgeWithoutBody(received, reply);
  const outcome = judgeEnvelope(received, envelope, reply, asked);
  if (outcome.kind !== 'ambiguous') return outcome;
  return { ...outcome, providerTxnId: namedTransaction(envelope, asked) };
}

function judgeEnvelope(received: TransportReply, envelope: Envelope, reply: Reply, asked: Asked): Outcome {
  if (received.status >= 500) return ambiguous(`server error ${received.status}`, reply);
  // An error that names a transaction contradicts itself: something was taken.
  if (envelope.verdict === 'error' && transactionsIn(envelope).length > 0) {
    return ambiguous('an error that names a transaction', reply);
  }
  if (envelope.verdict === 'error') return judgeError(received, envelope.code, reply, asked);
  if (envelope.verdict !== 'success') return ambiguous(`the reply's status is ${envelope.verdict}`, reply);
  if (received.status < 200 || received.status > 299) {
    return ambiguous(`a success under HTTP ${received.status}`, reply);
  }
  return judgeSuccess(envelope, reply, asked);
}

/**
 * The one transaction that an unclear reply names, so that the provider can be asked about it. Null for two of them, for
 * what does not look like an id (it might be a text), and where the reply is about other numbers than ours.
 */
function namedTransaction(envelope: Envelope, asked: Asked): string | null {
  const [id, ...others] = new Set(transactionsIn(envelope).map((value) => cleanId(value)));
  if (id === undefined || id === null || others.length > 0 || !/^[\w-]{1,64}$/.test(id)) return null;
  if (redactText(id, asked.secrets) !== id) return null;
  return accountForRecipients(envelope.flat, asked.recipients, asked.countryCode).foreign ? null : id;
}

/** No body of the provider's own: its edge, a proxy or a broken reply. */
function judgeWithoutBody(received: TransportReply, reply: Reply): Outcome {
  // The address is wrong for everybody until a person mends it, and nothing processed the request: we do not follow,
  // because following a redirect repeats the POST. 301, 302 and 303 are left out on purpose: that is how applications
  // answer a form they *have* processed, to show its result.
  if (REDIRECTS.has(received.status)) {
    const reason = `redirected with HTTP ${received.status}, not followed: the base URL is wrong`;
    return { kind: 'refused', scope: 'account', retryAfterMs: null, reply: { ...reply, reason } };
  }
  return ambiguous(`HTTP ${received.status} without a reply of the provider's own form`, reply);
}

function judgeError(received: TransportReply, code: string | null, reply: Reply, asked: Asked): Outcome {
  // Many gateways write `{"status":"error"}`; the code is what makes it the provider's.
  if (code === null) return ambiguous('an error without a code', reply);
  if (code === SUCCESS_CODE) return ambiguous('an error with the code of success', reply);
  if (TWO_SIDED.has(received.status)) return ambiguous(`HTTP ${received.status}`, reply);
  const scope = scopeOf(received.status, code, asked.extraCodes);
  if (scope === null) return ambiguous('a refusal whose code nobody has mapped', reply, code);
  const { 'retry-after': retryAfter, date } = received.headers;
  return { kind: 'refused', scope, retryAfterMs: retryAfterMs(retryAfter, date, asked.nowMs), reply };
}

function scopeOf(status: number, code: string, extraCodes: ExtraCodes): RefusalScope | null {
  if (THROTTLES.has(status)) return 'throttled';
  const mapped = refusalScopeOf(code, extraCodes);
  if (mapped !== null) return mapped;
  return ACCOUNT_STATUSES.has(status) ? 'account' : null;
}

function judgeSuccess(envelope: Envelope, reply: Reply, asked: Asked): Outcome {
  if (envelope.code !== SUCCESS_CODE) return ambiguous('a success whose code is not 200', reply);
  // A read answers below `response`; a send answers flat. And a send always names its transaction, if only as "0".
  if (envelope.nested !== null || envelope.flat.transactionId === undefined) {
    return ambiguous('a success that is not of the form of a send', reply);
  }
  const { rejected, unaccounted, strangers, foreign } = accountForRecipients(
    envelope.flat,
    asked.recipients,
    asked.countryCode,
  );
  if (foreign) return ambiguous('a success that names other numbers than ours', reply);
  return {
    kind: 'accepted',
    providerTxnId: cleanId(envelope.flat.transactionId),
    rejected,
    unaccounted,
    strangers: strangers.map((entry) => redactText(entry, asked.secrets)),
    reply,
  };
}

function evidenceOf(received: TransportReply, envelope: Envelope | null, secrets: Secrets): Reply {
  const clean = (text: string | null | undefined): string | null =>
    text === null || text === undefined ? null : redactText(text, secrets);
  return {
    httpStatus: received.status,
    raw: redactReply(received.body, secrets),
    statusCode: clean(envelope?.code),
    reason: clean(envelope?.reason),
  };
}
