import type { MessageChannel } from '@sendledger/core';
import { DateTime, IANAZone } from 'luxon';

/** Names of the one thing, which differ by call: a capital T in a send of SMS, none in an update and on WhatsApp. */
export const SCHEDULE_PARAMS = {
  smsSend: 'scheduleTime',
  smsUpdate: 'scheduletime',
  whatsappSend: 'scheduletime',
} as const;

/** The documented forms. The other channels have none that anybody has seen, and none is guessed. */
const FORMS: Readonly<Partial<Record<MessageChannel, { readonly form: string; readonly unit: 'second' | 'minute' }>>> =
  {
    sms: { form: 'yyyy-MM-dd HH:mm:ss', unit: 'second' },
    whatsapp: { form: 'yyyy-MM-dd HH:mm', unit: 'minute' },
  };

/** Digits and calendar of the form, whatever the machine's locale is. */
const PLAIN = { locale: 'en-US', numberingSystem: 'latn', outputCalendar: 'gregory' } as const;

/**
 * The local time by which the provider is told to hold a message until `at`: `YYYY-MM-DD HH:MM:SS` for SMS, without
 * seconds for WhatsApp. Finer parts are rounded up, since nothing may leave too early.
 *
 * Null where no text means that instant and no other: its local time is repeated when the clocks of `zone` go back, its
 * year is out of 0 to 9999, `zone` is no IANA zone, or the form of the channel is not documented.
 */
export function scheduleText(at: Date, channel: MessageChannel, zone: string): string | null {
  const { form, unit } = FORMS[channel] ?? {};
  if (form === undefined || unit === undefined || !IANAZone.isValidZone(zone)) return null;
  const exact = DateTime.fromMillis(at.getTime(), { zone, ...PLAIN });
  const begun = exact.startOf(unit);
  const rounded = begun < exact ? begun.plus({ [unit]: 1 }) : begun;
  if (!rounded.isValid || rounded.year < 0 || rounded.year > 9999) return null;
  if (rounded.getPossibleOffsets().length > 1) return null;
  const text = rounded.toFormat(form);
  // Zones of the nineteenth century have offsets that are no whole seconds or minutes: what does not read back is not said.
  const read = DateTime.fromFormat(text, form, { zone, ...PLAIN });
  return read.isValid && read.toMillis() === rounded.toMillis() ? text : null;
}

/** Why a time has no text for SMS, for the person who wanted it. */
export function scheduleTextFault(zone: string): string {
  return IANAZone.isValidZone(zone)
    ? 'the scheduled time has no local text that means it alone: clocks go back then, or its year is out of 0 to 9999'
    : 'the zone of the schedule is not an IANA zone';
}
