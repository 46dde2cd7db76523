import type { AccountAnswer } from '../account-answer.ts';
import { cleanText } from '../normalise/clean-text.ts';
import { readEnvelope } from '../normalise/envelope.ts';
import { asObject, type JsonObject, type JsonValue, parseJson } from '../normalise/parse-json.ts';
import { redactText, type Secrets } from '../normalise/redact-reply.ts';
import type { TransportReply } from '../transport.ts';
import { unavailable } from './call-provider.ts';
import { type ExtraCodes, refusalScopeOf, SUCCESS_CODE } from './codes.ts';

/** Under these the server, or something before it, speaks of itself or of our pace, and not of the account. */
const SAYS_NOTHING_OF_THE_ACCOUNT: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Credit types under which a send is paid for beforehand: credits and a wallet. A postpaid account sends with nothing on it, and
 * of a type nobody knows nothing is said.
 */
const PREPAID: ReadonlySet<string> = new Set(['1', '2']);

/**
 * Judges the answer to the account call. A refusal is only an error whose code is known to be about the account: sends may well
 * pass where this call alone is refused, broken or misread, and a refusal stops them. Everything else is `unavailable`.
 */
export function readAccount(received: TransportReply, secrets: Secrets, extraCodes: ExtraCodes = {}): AccountAnswer {
  const { status } = received;
  if (status >= 500 || SAYS_NOTHING_OF_THE_ACCOUNT.has(status)) return unavailable(`HTTP ${status}`);
  const envelope = readEnvelope(parseJson(received.body.toString('utf8')));
  if (envelope === null) return unavailable(`HTTP ${status} without a reply of the provider's own form`);
  if (envelope.verdict === 'error') {
    if (envelope.code === SUCCESS_CODE) return unavailable('an error with the code of success');
    const detail = redactText(envelope.reason ?? 'no reason given', secrets);
    if (envelope.code === null) return unavailable(`an error without a code: ${detail}`);
    const code = redactText(envelope.code, secrets);
    if (refusalScopeOf(envelope.code, extraCodes) !== 'account') return unavailable(`error ${code}: ${detail}`);
    return { kind: 'refused', code, detail };
  }
  if (envelope.verdict !== 'success') return unavailable(`the reply's status is ${envelope.verdict}`);
  if (envelope.code !== null && envelope.code !== SUCCESS_CODE) return unavailable('a success whose code is not 200');
  if (status < 200 || status > 299) return unavailable(`a success under HTTP ${status}`);
  const account = accountOf(envelope.nested ?? envelope.flat);
  const balance = decimalOf(account.smsBalance);
  const isPrepaid = PREPAID.has(cleanText(account.userCreditType, 40) ?? '');
  return { kind: 'ok', balance, empty: isPrepaid && balance !== null && isEmpty(balance) };
}

function accountOf(response: JsonObject): JsonObject {
  return asObject(response.account) ?? response;
}

/** Decimal text; nothing is guessed from separators or exponents. */
function decimalOf(value: JsonValue | undefined): string | null {
  const text = cleanText(value, 40);
  return text !== null && /^-?(\d{1,18}(\.\d{0,9})?|\.\d{1,9})$/.test(text) ? text : null;
}

function isEmpty(decimal: string): boolean {
  return decimal.startsWith('-') || /^[0.]+$/.test(decimal);
}
