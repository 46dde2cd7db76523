import { onTestFinished } from 'vitest';
import {
  type Adapter,
  type Clocks,
  createGotTransport,
  createSmsGatewayCenter,
  DEFAULT_TIMEOUTS,
  type GotTransportOptions,
  readClocks,
  type SendBudget,
  type SmsGatewayCenterOptions,
  type SubmitRequest,
  startSendBudget,
  type TransportTimeouts,
} from '../../src/index.ts';

export const USERID = 'invented-user';
export const PASSWORD = 'inventedPassw0rd';
export const API_KEY = 'invented-key-77aa';
export const BODY = 'Your order 4471 is ready & waits at the counter';
export const TXN = '6305583318236810379';

export function requestTo(recipients: readonly string[], changes: Partial<SubmitRequest> = {}): SubmitRequest {
  return {
    attemptKey: '0b9e1c0e-6d1c-4c86-9a39-0d6f0f1f5f11',
    recipients,
    body: BODY,
    encoding: 'GSM7',
    senderId: 'SMSGAT',
    dltEntityId: '1234567890123456789',
    dltTemplateId: '0234567890123456789',
    messageClass: 'transactional',
    scheduleAt: null,
    scheduleZone: null,
    validUntil: null,
    ...changes,
  };
}

export interface HandClocks extends Clocks {
  advance(ms: number): void;
}

export function handClocks(): HandClocks {
  let now = 0;
  return {
    monotonicMs: () => now,
    wallMs: () => 1_700_000_000_000 + now,
    advance: (ms) => {
      now += ms;
    },
  };
}

/** A budget of 5 s on a clock that stands still unless moved. */
export function fullBudget(clocks: Clocks = handClocks()): SendBudget {
  return startSendBudget(readClocks(clocks), 5_000, clocks);
}

/** An adapter over real sockets. `timeouts` may be shorter here than a real configuration allows. */
export function adapterFor(
  baseUrl: string,
  timeouts: Partial<TransportTimeouts> = {},
  transportOptions: GotTransportOptions = {},
  options: Partial<SmsGatewayCenterOptions> = {},
): Adapter {
  const transport = createGotTransport({ ...transportOptions, timeouts: { ...DEFAULT_TIMEOUTS, ...timeouts } });
  const adapter = createSmsGatewayCenter({ baseUrl, userid: USERID, password: PASSWORD, transport, ...options });
  onTestFinished(() => adapter.close());
  return adapter;
}
