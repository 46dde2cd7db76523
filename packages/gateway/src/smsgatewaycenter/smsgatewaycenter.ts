import { IANAZone } from 'luxon';
import type { AccountAnswer } from '../account-answer.ts';
import type { Adapter, SubmitRequest } from '../adapter.ts';
import { classifyFailure } from '../classify-failure.ts';
import { createGotTransport } from '../got-transport.ts';
import { cleanId } from '../normalise/clean-id.ts';
import { redactReply, type Secrets } from '../normalise/redact-reply.ts';
import { ambiguous, NO_REPLY, notSent, type Outcome, type Reply, unbuildable } from '../outcome.ts';
import { SMSGATEWAYCENTER } from '../providers.ts';
import type { ReportAnswer } from '../report-answer.ts';
import type { SchedulesAnswer } from '../schedules-answer.ts';
import type { SendBudget } from '../send-budget.ts';
import type { Transport, TransportFailure, TransportReply } from '../transport.ts';
import { callForm, callHeaders, credentialsOf } from './call-form.ts';
import { callProvider, unavailable } from './call-provider.ts';
import { capabilitiesOf } from './capabilities.ts';
import { cancelSchedule, moveSchedule } from './change-schedule.ts';
import { dayReport } from './day-report.ts';
import { judgeReply } from './judge-reply.ts';
import { type Settings, type SmsGatewayCenterOptions, settingsOf } from './options.ts';
import { readAccount } from './read-account.ts';
import { readPush } from './read-push.ts';
import { readReport } from './read-report.ts';
import { readSchedules } from './read-schedules.ts';
import { reportByDays } from './report-by-days.ts';
import { readingOf } from './report-record.ts';
import { sendForm } from './send-form.ts';
import { causeClassOf, recordStatusOf } from './vocabulary.ts';

const SEND_PATH = '/SMSApi/send';
const ACCOUNT_PATH = '/SMSApi/account/readstatus';
const SCHEDULES_PATH = '/SMSApi/schedule/read';
/** A report of a full request with its texts is a few hundred kB; this leaves room. */
const LONGEST_REPORT_BYTES = 16 * 1024 * 1024;

/**
 * The adapter of SMSGatewayCenter's Unify API. Settings live in the closure, so that printing the adapter shows no
 * credential. Throws `SENDLEDGER_CONFIG` for options that cannot work.
 */
export function createSmsGatewayCenter(options: SmsGatewayCenterOptions): Adapter {
  const settings = settingsOf(options);
  const given = options.transport;
  const sends =
    given ?? createGotTransport({ timeouts: settings.timeouts, keepAlive: settings.keepAlive, ...caOf(settings) });
  const reads =
    given ??
    createGotTransport({
      timeouts: settings.timeouts,
      keepAlive: true,
      maxBodyBytes: LONGEST_REPORT_BYTES,
      ...caOf(settings),
    });
  return {
    provider: SMSGATEWAYCENTER,
    capabilities: capabilitiesOf(settings.maxRecipients),
    submit: (request, budget, signal) => submit(sends, settings, request, budget, signal),
    reportByTransaction: (txnId, expected, zone, signal) =>
      reportByTransaction(reads, settings, txnId, expected, zone ?? settings.zone, signal),
    reportByDays: (question, onPage, signal) => reportByDays(reads, settings, question, onPage, signal),
    dayReport: (question, reader, signal) => dayReport(reads, settings, question, reader, signal),
    account: (signal) => account(reads, settings, signal),
    heldSchedules: (signal) => heldSchedules(reads, settings, signal),
    // Not over the connections of reads: one that the provider closes just then would make an unknown of the change.
    cancelSchedule: (txnId, signal) => cancelSchedule(sends, settings, txnId, signal),
    moveSchedule: (txnId, at, zone, signal) =>
      moveSchedule(sends, settings, { providerTxnId: txnId, at, zone: zone ?? settings.zone }, signal),
    readPush: (push, zone) => readPush(push, readingOf(settings, zone)),
    judgeStatus: (statusWord, cause) => ({
      status: recordStatusOf(statusWord, cause, settings.extraStatusWords),
      causeClass: causeClassOf(cause, settings.extraStatusWords),
    }),
    close: () => {
      sends.close();
      reads.close();
    },
  };
}

function caOf(settings: Settings): { readonly ca?: string } {
  return settings.ca === undefined ? {} : { ca: settings.ca };
}

async function submit(
  transport: Transport,
  settings: Settings,
  request: SubmitRequest,
  budget: SendBudget,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const built = sendForm(request, settings);
  if (built.kind === 'unbuildable') return unbuildable(built.reason);
  // The decisive check is the transport's; this one saves the connection.
  if (!budget.holds()) return notSent('send_budget', 'the budget was spent before the request was made');
  const secrets: Secrets = { credentials: credentialsOf(settings), texts: [request.body] };
  let result: TransportReply | TransportFailure | null = null;
  try {
    result = await transport.post({
      url: new URL(`${settings.baseUrl}${SEND_PATH}`),
      form: built.form,
      headers: callHeaders(settings),
      budget,
      ...(signal === undefined ? {} : { signal }),
    });
    if (result.kind === 'failure') return outcomeOfFailure(result, secrets);
    return judgeReply(result, {
      recipients: request.recipients,
      countryCode: settings.countryCode,
      extraCodes: settings.extraCodes,
      secrets,
      nowMs: Date.now(),
    });
  } catch {
    // A transport that throws, or a reply that breaks our reading of it. Whatever it was, the request may be out.
    return ambiguous('our own fault after the request was begun', statusOnly(result));
  }
}

function outcomeOfFailure(failure: TransportFailure, secrets: Secrets): Outcome {
  const verdict = classifyFailure(failure);
  if (verdict.kind === 'not_sent') return notSent(verdict.proof, verdict.detail);
  const { partial } = failure;
  if (partial === null) return ambiguous(verdict.detail);
  const raw = redactReply(partial.body, secrets);
  return ambiguous(verdict.detail, { ...NO_REPLY, httpStatus: partial.status, raw });
}

function statusOnly(result: TransportReply | TransportFailure | null): Reply {
  return result?.kind === 'reply' ? { ...NO_REPLY, httpStatus: result.status } : NO_REPLY;
}

async function reportByTransaction(
  transport: Transport,
  settings: Settings,
  providerTxnId: string,
  expectedRecipients: number,
  zone: string,
  signal: AbortSignal | undefined,
): Promise<ReportAnswer> {
  const uuid = cleanId(providerTxnId);
  if (uuid === null) return unavailable('no transaction id to ask for');
  if (!IANAZone.isValidZone(zone)) return unavailable('the zone is not an IANA zone');
  const form = callForm(settings);
  form.set('uuid', uuid);
  return callProvider(transport, settings, { path: settings.reportPath, form, signal }, (received) =>
    readReport(received, { ...readingOf(settings, zone), providerTxnId: uuid, expectedRecipients }),
  );
}

function account(transport: Transport, settings: Settings, signal: AbortSignal | undefined): Promise<AccountAnswer> {
  const secrets: Secrets = { credentials: credentialsOf(settings), texts: [] };
  const call = { path: ACCOUNT_PATH, form: callForm(settings), signal };
  return callProvider(transport, settings, call, (received) => readAccount(received, secrets, settings.extraCodes));
}

function heldSchedules(
  transport: Transport,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<SchedulesAnswer> {
  const call = { path: SCHEDULES_PATH, form: callForm(settings), signal };
  return callProvider(transport, settings, call, (received) => readSchedules(received, settings.extraScheduleWords));
}
