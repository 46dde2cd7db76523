import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { credentialsHold } from './credentials.ts';
import { drawSpan } from './delivery.ts';
import { INSUFFICIENT_BALANCE, type ProviderError, TEMPORARY } from './error-codes.ts';
import type { FaultName } from './fault-names.ts';
import { canonicalMobile } from './mobile-numbers.ts';
import { requestTime } from './provider-clock.ts';
import { replyError, replyFlat, replyHtml } from './replies.ts';
import { type Parameters, readParameters } from './request-parameters.ts';
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
  const send = readSendRequest(parameters, credentialsHold(request, parameters, options));
  const outcome = 'statusCode' in send ? { error: send } : accept(simulation, send, fault === 'invalidMobile');
  if ('error' in outcome) {
    simulation.log.refused++;
    return replyError(reply, parameters, outcome.error, options);
  }

  if (fault === 'hold') await simulation.faults.hold(gone.signal);
  const latency = drawSpan(options.latencyMs, options.seed, 'latency', number);
  if (latency > 0) await sleep(latency, undefined, { signal: gone.signal }).catch(() => undefined);
  if (gone.signal.aborted) return reply.hijack();
  return failAfterAccept(fault, request, reply) ?? replyFlat(reply, parameters, outcome.success, options);
}

// A rule on numbers must see them before the request was checked.
function numbersOf(parameters: Parameters): string[] {
  const recipients = (parameters.mobile ?? '').split(',').map((piece) => piece.trim());
  return recipients.filter((piece) => piece !== '').map((piece) => canonicalMobile(piece) ?? piece);
}

function failBeforeAccept(
  simulation: Simulation,
  parameters: Parameters,
  fault: FaultName,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | null {
  switch (fault) {
    case 'refuse-before-accept':
      simulation.log.refused++;
      return replyError(reply, parameters, TEMPORARY, simulation.options);
    case 'reset-before-accept':
      return reset(request, reply);
    case 'hang-before-accept':
      return reply.hijack();
    case 'http-500':
      return replyHtml(reply, 500, '500 Internal Server Error');
    case 'html-under-200':
      return replyHtml(reply, 200, '502 Bad Gateway');
    default:
      return null;
  }
}

function failAfterAccept(fault: FaultName | null, request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  switch (fault) {
    case 'accept-then-hang':
      return reply.hijack();
    case 'accept-then-reset':
      return reset(request, reply);
    case 'accept-then-502':
      return replyHtml(reply, 502, '502 Bad Gateway');
    case 'accept-then-html-under-200':
      return replyHtml(reply, 200, '502 Bad Gateway');
    default:
      return null;
  }
}

/** Ends the connection with RST instead of FIN, as a crashed or overloaded server does. */
export function reset(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack();
  request.raw.socket.resetAndDestroy();
  return reply;
}

function accept(
  simulation: Simulation,
  send: SendRequest,
  makeFirstInvalid: boolean,
): { success: Record<string, string> } | { error: ProviderError } {
  const { options, log } = simulation;
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
  if (simulation.balance !== null && log.billed + price * BigInt(mobiles.length) > simulation.balance) {
    return { error: INSUFFICIENT_BALANCE };
  }
  const transactionId = log.accept({ ...send, mobiles, price, acceptedAt });
  log.invalid += invalid.length;
  const written = options.invalidMobileForm === 'sent' ? (one: Recipient) => one.written : shownCanonical;
  const success = {
    status: 'success',
    mobile: valid.map((recipient) => recipient.written).join(','),
    invalidMobile: invalid.map(written).join(','),
    transactionId,
    statusCode: '200',
    reason: 'success',
    ...(options.sendExtras ? { msgId: '', requestTime: requestTime(acceptedAt) } : {}),
  };
  return { success };
}

function shownCanonical(recipient: Recipient): string {
  return recipient.canonical ?? recipient.written;
}
