import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { credentialsHold } from './credentials.ts';
import { drawSpan } from './draws.ts';
import { INSUFFICIENT_BALANCE, type ProviderError } from './error-codes.ts';
import { canonicalMobile } from './mobile-numbers.ts';
import { replyError, replyFlat } from './replies.ts';
import { type Parameters, readParameters } from './request-parameters.ts';
import { failAfterAccept, failBeforeAccept } from './send-failures.ts';
import { type Recipient, readSendRequest, type SendRequest } from './send-request.ts';
import type { Simulation } from './simulation.ts';

/** `/SMSApi/send`: checks, faults, acceptance (logged and charged at that moment), reply. */
export async function handleSend(
  simulation: Simulation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const gone = new AbortController();
  simulation.enter();
  reply.raw.once('close', () => {
    simulation.leave();
    gone.abort();
  });
  const { log } = simulation;
  const number = log.requests++;
  const parameters = readParameters(request);
  const fault = simulation.faults.pick(numbersOf(parameters));

  if (fault === 'hold-before-accept') await simulation.faults.hold(gone.signal);
  else if (fault !== null) {
    const answered = failBeforeAccept(simulation, parameters, fault, request, reply);
    if (answered !== null) return answered;
  }

  const { options } = simulation;
  const holds = credentialsHold(request, parameters, simulation);
  const send = readSendRequest(parameters, holds, simulation.clock, options.now());
  const outcome = 'statusCode' in send ? { error: send } : accept(simulation, send, fault === 'invalidMobile');
  if ('error' in outcome) {
    simulation.log.refused++;
    return replyError(reply, parameters, outcome.error, options);
  }

  if (fault === 'hold') await simulation.faults.hold(gone.signal);
  const slow = fault === 'accept-slow-first-byte' ? options.slowMs : 0;
  const latency = slow + drawSpan(options.latencyMs, options.seed, 'latency', number);
  if (latency > 0) await sleep(latency, undefined, { signal: gone.signal }).catch(() => undefined);
  if (gone.signal.aborted) return reply.hijack();
  const { success } = outcome;
  const failed = failAfterAccept(simulation, parameters, success, fault, request, reply);
  return failed ?? replyFlat(reply, parameters, success, options);
}

// A rule on numbers must see them before the request was checked.
function numbersOf(parameters: Parameters): string[] {
  const recipients = (parameters.mobile ?? '').split(',').map((piece) => piece.trim());
  return recipients.filter((piece) => piece !== '').map((piece) => canonicalMobile(piece) ?? piece);
}

function accept(
  simulation: Simulation,
  send: SendRequest,
  makeFirstInvalid: boolean,
): { success: Record<string, string> } | { error: ProviderError } {
  const { options, log, account, clock, push } = simulation;
  const valid: Recipient[] = [];
  const invalid: Recipient[] = [];
  let spoil = makeFirstInvalid;
  for (const recipient of send.recipients) {
    const isInvalid = recipient.canonical === null || options.invalidMobile?.test(recipient.canonical) === true;
    (isInvalid || spoil ? invalid : valid).push(recipient);
    spoil = false;
  }
  const price = simulation.pricePerSegment * BigInt(send.units);
  const acceptedAt = options.now();
  const mobiles = send.test ? [] : valid.map(shownCanonical);
  if (!account.covers(price * BigInt(mobiles.length))) return { error: INSUFFICIENT_BALANCE };
  const first = log.length;
  const transactionId = log.accept({ ...send, mobiles, price, acceptedAt });
  push.accepted(first, mobiles.length);
  log.invalid += invalid.length;
  const written = options.invalidMobileForm === 'sent' ? (one: Recipient) => one.written : shownCanonical;
  const success = {
    status: 'success',
    mobile: valid.map((recipient) => recipient.written).join(','),
    invalidMobile: invalid.map(written).join(','),
    transactionId,
    statusCode: '200',
    reason: 'success',
    ...(options.sendExtras ? { msgId: '', requestTime: clock.dateTime(acceptedAt) } : {}),
  };
  return { success };
}

function shownCanonical(recipient: Recipient): string {
  return recipient.canonical ?? recipient.written;
}
