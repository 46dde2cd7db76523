import type { Capabilities } from '../adapter.ts';
import { hasDayReport, SMSGATEWAYCENTER } from '../providers.ts';
import { SCHEDULE_PARAMS } from './schedule-text.ts';

/**
 * What the documented API can do. No client reference is read or echoed, so every call is a new charge; receipts are
 * pushed to one address per account, unsigned, so that anybody who finds it can make one: a hint that wakes a poll.
 */
export function capabilitiesOf(maxRecipients: number): Capabilities {
  return {
    maxRecipients,
    idFor: 'request',
    clientRef: 'none',
    lookup: { byTxn: true, byRecipientWindow: true, byDay: hasDayReport(SMSGATEWAYCENTER), destructive: false },
    push: { perMessageUrl: false, signed: false, trusted: false },
    schedule: { supported: true, cancel: true, precision: 'second', param: SCHEDULE_PARAMS.smsSend },
    // `/send` documents no parameter for it.
    validity: { supported: false, param: null },
    partialRefusal: true,
    // `msgType=text` refuses every character beyond ASCII, also those of the GSM alphabet, so they go, and are billed,
    // as unicode.
    encodingRule: 'ascii',
  };
}
