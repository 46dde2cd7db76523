import { classifyFailure } from '../classify-failure.ts';
import { cleanId } from '../normalise/clean-id.ts';
import type { ScheduleChangeAnswer } from '../schedule-change.ts';
import type { Transport } from '../transport.ts';
import { callForm, callHeaders, credentialsOf } from './call-form.ts';
import { ambiguousChange, judgeScheduleChange } from './judge-schedule-change.ts';
import type { Settings } from './options.ts';
import { SCHEDULE_PARAMS, scheduleText, scheduleTextFault } from './schedule-text.ts';

const DELETE_PATH = '/SMSApi/schedule/delete';
/** Taken by POST only. */
const UPDATE_PATH = '/SMSApi/schedule/update';

/** Asks once that a held request be deleted. Does not throw. */
export async function cancelSchedule(
  transport: Transport,
  settings: Settings,
  providerTxnId: string,
  signal: AbortSignal | undefined,
): Promise<ScheduleChangeAnswer> {
  const uuid = cleanId(providerTxnId);
  if (uuid === null) return refusedByUs('no transaction id to cancel');
  const form = callForm(settings);
  form.set('uuid', uuid);
  return askOnce(transport, settings, { path: DELETE_PATH, form, uuid, signal });
}

/** Asks once that a held request go out at another time. Does not throw. */
export async function moveSchedule(
  transport: Transport,
  settings: Settings,
  wish: { readonly providerTxnId: string; readonly at: Date; readonly zone: string },
  signal: AbortSignal | undefined,
): Promise<ScheduleChangeAnswer> {
  const uuid = cleanId(wish.providerTxnId);
  if (uuid === null) return refusedByUs('no transaction id to move');
  const text = scheduleText(wish.at, 'sms', wish.zone);
  if (text === null) return refusedByUs(scheduleTextFault(wish.zone));
  const form = callForm(settings);
  form.set('uuid', uuid);
  form.set(SCHEDULE_PARAMS.smsUpdate, text);
  return askOnce(transport, settings, { path: UPDATE_PATH, form, uuid, signal });
}

interface Change {
  readonly path: string;
  readonly form: URLSearchParams;
  readonly uuid: string;
  readonly signal: AbortSignal | undefined;
}

async function askOnce(transport: Transport, settings: Settings, change: Change): Promise<ScheduleChangeAnswer> {
  const { path, form, uuid, signal } = change;
  try {
    const result = await transport.post({
      url: new URL(`${settings.baseUrl}${path}`),
      form,
      headers: callHeaders(settings),
      // The budget guards a mark against a second send; asking twice for the same change sends nothing.
      budget: null,
      ...(signal === undefined ? {} : { signal }),
    });
    if (result.kind === 'failure') {
      const { kind, detail } = classifyFailure(result);
      return { kind, detail };
    }
    const secrets = { credentials: credentialsOf(settings), texts: [] };
    return judgeScheduleChange(result, { uuid, extraCodes: settings.extraCodes, secrets });
  } catch {
    // A transport that throws, or a reply that breaks our reading of it. Whatever it was, the request may be out.
    return ambiguousChange('our own fault after the request was begun');
  }
}

function refusedByUs(reason: string): ScheduleChangeAnswer {
  return { kind: 'refused', statusCode: null, reason, scope: null };
}
