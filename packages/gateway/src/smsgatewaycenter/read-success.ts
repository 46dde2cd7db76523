import { readEnvelope } from '../normalise/envelope.ts';
import { type JsonObject, parseJson } from '../normalise/parse-json.ts';
import type { TransportReply } from '../transport.ts';
import { type Unavailable, unavailable } from './call-provider.ts';
import { SUCCESS_CODE } from './codes.ts';

/** A read that worked: the object that holds its data. */
export interface ReadSuccess {
  readonly kind: 'success';
  readonly response: JsonObject;
}

/** The envelope's success says that the read worked, and nothing about any delivery. */
export function readSuccess(received: TransportReply): ReadSuccess | Unavailable {
  if (received.status < 200 || received.status > 299) return unavailable(`HTTP ${received.status}`);
  const envelope = readEnvelope(parseJson(received.body.toString('utf8')));
  if (envelope === null) return unavailable("not a reply of the provider's own form");
  if (envelope.verdict !== 'success')
    return unavailable(`the read ended in ${envelope.verdict}${codeOf(envelope.code)}`);
  if (envelope.code !== null && envelope.code !== SUCCESS_CODE)
    return unavailable(`the read ended${codeOf(envelope.code)}`);
  return { kind: 'success', response: envelope.nested ?? envelope.flat };
}

/** Codes are digits as far as they are known; other text is not repeated. */
function codeOf(code: string | null): string {
  return code !== null && /^\d{1,10}$/.test(code) ? ` with code ${code}` : '';
}
