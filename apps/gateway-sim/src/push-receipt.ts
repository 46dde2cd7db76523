import type { LoggedMessage, TransactionHead } from './books.ts';
import type { FinalWord } from './delivery-script.ts';
import type { GatewaySimOptions } from './options.ts';
import type { ProviderClock } from './provider-clock.ts';

const OTHER_FAILURE = 99;

/** A receipt ready to be posted. */
export interface Receipt {
  contentType: string;
  body: string;
}

/** Writes one receipt under the names that are set. Neither set says the status in words: 0 is delivered. */
export function writeReceipt(
  head: TransactionHead,
  message: LoggedMessage,
  word: FinalWord,
  clock: ProviderClock,
  options: Pick<GatewaySimOptions, 'pushFields' | 'failCauses'>,
): Receipt {
  const errorCode = String(errorCodeOf(word, options.failCauses));
  if (options.pushFields === 'legacy') {
    const { msgId, mobile } = message;
    const fields = { transId: head.id, msgId, errorCode, dlrTime: clock.epochMs(word.at), mobile };
    return { contentType: 'application/json', body: JSON.stringify(fields) };
  }
  const fields = new URLSearchParams({
    Transactionid: head.id,
    Messageid: message.msgId,
    ErrorCode: errorCode,
    MobileNumber: message.mobile,
    ReceivedTime: clock.dateTime(head.dispatchedAt),
    // On failures too: whoever infers success from it is wrong.
    DeliveredTime: clock.dateTime(word.at),
  });
  return { contentType: 'application/x-www-form-urlencoded', body: fields.toString() };
}

/** Reads a URL to push to. @throws RangeError unless it is http or https. */
export function httpUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new RangeError('an http or https URL');
  return url.href;
}

function errorCodeOf({ status, cause }: FinalWord, failCauses: readonly string[]): number {
  if (status === 'DELIVERED') return 0;
  const place = failCauses.indexOf(cause);
  return place === -1 ? OTHER_FAILURE : place + 1;
}
