import type { MessageChannel } from '@sendledger/core';
import { IANAZone } from 'luxon';

/** Names of the one thing, which differ by call: a capital T in a send of SMS, none in an update and on WhatsApp. */
export const SCHEDULE_PARAMS = {
  smsSend: 'scheduleTime',
  smsUpdate: 'scheduletime',
  whatsappSend: 'scheduletime',
} as const;

/** How much of `YYYY-MM-DD HH:MM:SS` is written. The other channels have no form that anybody has seen, and none is guessed. */
const FORMS: Readonly<Partial<Record<MessageChannel, { readonly unitMs: number; readonly length: number }>>> = {
  sms: { unitMs: 1_000, length: 'YYYY-MM-DD HH:MM:SS'.length },
  whatsapp: { unitMs: 60_000, length: 'YYYY-MM-DD HH:MM'.length },
};

const FIRST_LOCAL_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_LOCAL_MS = Date.parse('9999-12-31T23:59:59Z');

/**
 * The local time by which the provider is told to hold a message until `at`: `YYYY-MM-DD HH:MM:SS` for SMS, without
 * seconds for WhatsApp. Finer parts are rounded up, since nothing may leave too early.
 *
 * Null where no text means that instant and no other: its local time is repeated when the clocks of `zone` go back, its
 * year is out of 0 to 9999, `zone` is no IANA zone, or the form of the channel is not documented.
 */
export function scheduleText(at: Date, channel: MessageChannel, zone: string): string | null {
  const form = FORMS[channel];
  if (form === undefined || !IANAZone.isValidZone(zone)) return null;
  // Not by the library's own parser: what that makes of a local time depends on the offset the zone has today.
  const offsetMs = offsetsOf(zone);
  const beyond = modulo(at.getTime() + offsetMs(at.getTime()), form.unitMs);
  const instant = beyond === 0 ? at.getTime() : at.getTime() + form.unitMs - beyond;
  const local = instant + offsetMs(instant);
  // Written so that NaN fails it too.
  if (!(local >= FIRST_LOCAL_MS && local <= LAST_LOCAL_MS)) return null;
  // The clocks changed in the middle of a unit, as those of the nineteenth century may.
  if (modulo(local, form.unitMs) !== 0) return null;
  if (isShownTwice(local, instant, offsetMs)) return null;
  return new Date(local).toISOString().replace('T', ' ').slice(0, form.length);
}

/** Why a time has no text for SMS, for the person who wanted it. */
export function scheduleTextFault(zone: string): string {
  return IANAZone.isValidZone(zone)
    ? 'the scheduled time has no local text that means it alone: clocks go back then, or its year is out of 0 to 9999'
    : 'the zone of the schedule is not an IANA zone';
}

/** Milliseconds by which the clocks of a zone are ahead of UTC at an instant. */
type Offsets = (instant: number) => number;

function offsetsOf(zone: string): Offsets {
  const iana = IANAZone.create(zone);
  // In minutes, with a fraction where a zone once kept the time of its sun.
  return (instant) => Math.round(iana.offset(instant) * 60_000);
}

const HOUR_MS = 3_600_000;

/** Whether the clocks show this local time at another instant as well. */
function isShownTwice(local: number, instant: number, offsetMs: Offsets): boolean {
  // Clocks were put back by up to a day. No offset has held for as little as six hours.
  for (let hours = -24; hours <= 24; hours += 6) {
    const other = local - offsetMs(local + hours * HOUR_MS);
    if (other !== instant && other + offsetMs(other) === local) return true;
  }
  return false;
}

function modulo(value: number, unit: number): number {
  return ((value % unit) + unit) % unit;
}
