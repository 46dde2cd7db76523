import { Buffer } from 'node:buffer';
import { cleanId } from '../normalise/clean-id.ts';
import { cleanText, isSentinel } from '../normalise/clean-text.ts';
import { cleanTime } from '../normalise/clean-time.ts';
import { asList, asObject, type JsonObject, parseJson } from '../normalise/parse-json.ts';
import { recordEvidence } from '../normalise/record-evidence.ts';
import { PUSH_RECORD_LIMIT, type PushAnswer, type PushRequest } from '../push.ts';
import type { ProviderRecord, RecordStatus } from '../report-answer.ts';
import { withCountryCode } from './number-match.ts';
import { hasPushField, isPushField, type PushFields, pushField, pushFields } from './push-fields.ts';
import { LONGEST_WORD, type Reading } from './report-record.ts';
import { causeClassOf, ERROR_CODE_WORD, recordStatusOf } from './vocabulary.ts';

/** A longer body is not looked at. Bytes. */
const LONGEST_BODY = 1024 * 1024;

/**
 * Reads a push, whose form is not documented: a JSON object or list, a form, or a query. The content decides and not the
 * content type, which is wrong on this provider's replies too. Whatever is in the push, this does not throw.
 */
export function readPush(push: PushRequest, reading: Reading): PushAnswer {
  try {
    if (push.body.byteLength > LONGEST_BODY) return { kind: 'unreadable', detail: 'the body is too long' };
    const inBody = recordsOf(rowsOfBody(push.body), reading);
    // A GET has no body, and some servers post an empty one.
    const records = inBody.length > 0 ? inBody : recordsOf([rowOf(push.query)], reading);
    if (records.length > 0) return { kind: 'records', records };
    return { kind: 'unreadable', detail: 'no record with an id or a number' };
  } catch {
    return { kind: 'unreadable', detail: 'our own fault while reading the push' };
  }
}

function rowsOfBody(body: Uint8Array): readonly JsonObject[] {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const json = parseJson(text);
  const object = asObject(json);
  if (object !== null) return [object];
  const list = asList(json);
  if (list === null) return [rowOf(new URLSearchParams(text.trim()))];
  return list
    .slice(0, PUSH_RECORD_LIMIT)
    .map((element) => asObject(element))
    .filter((row) => row !== null);
}

/** Of a name that comes twice the first counts. */
function rowOf(form: URLSearchParams): JsonObject {
  return Object.fromEntries([...form].toReversed());
}

function recordsOf(rows: readonly JsonObject[], reading: Reading): readonly ProviderRecord[] {
  return rows.map((row) => pushRecord(row, reading)).filter((record) => record !== null);
}

/** One record of a push; null if it names no id and no number, so that nobody could be asked about it. */
function pushRecord(row: JsonObject, reading: Reading): ProviderRecord | null {
  const fields = pushFields(row);
  const providerTxnId = cleanId(pushField(fields, 'transactionId'));
  const providerMessageId = cleanId(pushField(fields, 'messageId'));
  const recipient = withCountryCode(pushField(fields, 'mobile') ?? '', reading.countryCode);
  if (providerTxnId === null && providerMessageId === null && recipient === null) return null;
  const cause = cleanText(pushField(fields, 'cause'), LONGEST_WORD);
  const { statusWord, status } = statusOf(fields, cause, reading);
  return {
    providerTxnId,
    providerMessageId,
    recipient,
    senderId: cleanText(pushField(fields, 'sender'), LONGEST_WORD),
    statusWord,
    status,
    cause,
    causeClass: causeClassOf(cause, reading.extraStatusWords),
    submittedAt: cleanTime(pushField(fields, 'submitted'), reading.zone),
    deliveredAt: cleanTime(pushField(fields, 'delivered'), reading.zone),
    evidence: recordEvidence(row, isPushField),
  };
}

/**
 * The status word decides where there is one; a `delivered` beside an error code that is not zero contradicts itself.
 * Without a word the error code is made one (`ErrorCode 27`), so that people can map it like a word and it can be judged
 * again. Neither: still open. The time of delivery decides nothing, as failures carry one too.
 */
function statusOf(
  fields: PushFields,
  cause: string | null,
  reading: Reading,
): { readonly statusWord: string | null; readonly status: RecordStatus } {
  const code = errorCodeOf(fields);
  const word = cleanText(pushField(fields, 'status'), LONGEST_WORD);
  if (word !== null && !isSentinel(word)) {
    const status = recordStatusOf(word, cause, reading.extraStatusWords);
    const contradicted = status === 'delivered' && code !== null && code !== '0';
    return { statusWord: word, status: contradicted ? 'unmapped' : status };
  }
  if (code === null) return { statusWord: null, status: 'open' };
  const statusWord = cleanText(`${ERROR_CODE_WORD} ${code}`, LONGEST_WORD);
  return { statusWord, status: recordStatusOf(statusWord, cause, reading.extraStatusWords) };
}

/** `0` for a code of zero and for one that is there and empty, which mean the same; null where there is none. */
function errorCodeOf(fields: PushFields): string | null {
  const code = pushField(fields, 'errorCode');
  if (code === null) return hasPushField(fields, 'errorCode') ? '0' : null;
  if (/^0+$/.test(code)) return '0';
  return isSentinel(code) ? null : code;
}
