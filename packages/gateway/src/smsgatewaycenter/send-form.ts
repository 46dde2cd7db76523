import type { SubmitRequest } from '../adapter.ts';
import { callForm } from './call-form.ts';
import type { Settings } from './options.ts';
import { SCHEDULE_PARAMS, scheduleText, scheduleTextFault } from './schedule-text.ts';

export type SendForm =
  | { readonly kind: 'form'; readonly form: URLSearchParams }
  | { readonly kind: 'unbuildable'; readonly reason: string };

const E164_DIGITS = /^[1-9]\d{6,14}$/;

/**
 * The form of `/SMSApi/send`. Unbuildable is what would be refused, billed wrongly or not be told apart afterwards;
 * the reason says so without quoting the message.
 */
export function sendForm(request: SubmitRequest, settings: Settings): SendForm {
  const reason = faultOf(request, settings);
  if (reason !== null) return { kind: 'unbuildable', reason };
  const zone = request.scheduleZone ?? settings.zone;
  const heldUntil = request.scheduleAt === null ? null : scheduleText(request.scheduleAt, 'sms', zone);
  if (request.scheduleAt !== null && heldUntil === null)
    return { kind: 'unbuildable', reason: scheduleTextFault(zone) };
  const form = callForm(settings);
  form.set('sendMethod', 'quick');
  form.set('mobile', request.recipients.join(','));
  form.set('msg', request.body);
  form.set('senderid', request.senderId ?? '');
  // As it was priced: the bill follows the type that is sent, and ASCII outside GSM (a backtick) was counted as UCS2.
  form.set('msgType', request.encoding === 'UCS2' ? 'unicode' : 'text');
  // A string, as the provider refuses anything but "true" and "false". It drops repeats inside this request only.
  form.set('duplicatecheck', 'true');
  if (request.dltEntityId !== null) form.set('dltEntityId', request.dltEntityId);
  if (request.dltTemplateId !== null) form.set('dltTemplateId', request.dltTemplateId);
  if (heldUntil !== null) form.set(SCHEDULE_PARAMS.smsSend, heldUntil);
  return { kind: 'form', form };
}

/** Length of an Indian number without country code. */
const NATIONAL_DIGITS = 10;

function faultOf(request: SubmitRequest, settings: Settings): string | null {
  const { recipients, body } = request;
  if (recipients.length === 0) return 'no recipient';
  if (recipients.length > settings.maxRecipients) return `more than ${settings.maxRecipients} recipients`;
  if (!recipients.every((number) => E164_DIGITS.test(number))) return 'a recipient is not E.164 digits without plus';
  // The provider reads ten digits as an Indian number without its country code: the text would go to a stranger.
  if (recipients.some((number) => number.length === NATIONAL_DIGITS))
    return 'a recipient of ten digits reads as an Indian one';
  // The provider would drop the repeat, and two rows would share one message.
  if (new Set(recipients).size !== recipients.length) return 'a recipient appears twice';
  if (request.messageClass === 'otp' && recipients.length > 1) return 'one-time passwords are never batched';
  if (body === '') return 'empty message';
  // The form would replace a half surrogate pair without a word.
  if (!body.isWellFormed()) return 'the message is not well-formed text';
  if (request.senderId === null || request.senderId === '') return 'no sender id';
  // It would go out as unicode, and cost more than the frozen quote says.
  if (request.encoding === 'GSM7' && !isAscii(body)) return 'priced as GSM7, but needs unicode at this provider';
  return null;
}

/** By code point: the provider's text type takes nothing above 0x7F, accents of the GSM alphabet included. */
function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text);
}
