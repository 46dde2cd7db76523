import { DateTime, IANAZone } from 'luxon';
import type { DlrTimes, GatewaySimOptions } from './options.ts';

const OFFSET_HOLDS_FOR_MS = 15 * 60_000;
const MONTHS = 'January,February,March,April,May,June,July,August,September,October,November,December'.split(',');

/**
 * Every time that the provider writes or reads. Instants are milliseconds since the epoch of the true clock; the
 * provider's own clock may be wrong by `clockSkewMs` and stand in any zone, which a client must find out.
 */
export class ProviderClock {
  readonly #zone: IANAZone;
  readonly #skewMs: number;
  // A day report writes ten thousand times; zones change their offset at quarters of an hour only.
  #quarter = Number.NaN;
  #offsetMs = 0;

  /** @throws RangeError for a zone that is not in the IANA list. */
  constructor(options: Pick<GatewaySimOptions, 'zone' | 'clockSkewMs'>) {
    if (!IANAZone.isValidZone(options.zone)) throw new RangeError(`no such zone: ${JSON.stringify(options.zone)}`);
    this.#zone = IANAZone.create(options.zone);
    this.#skewMs = options.clockSkewMs;
  }

  /** `2026-07-17 00:20:09`, as in the answer of a send. */
  dateTime(at: number): string {
    return this.#wall(at).toISOString().slice(0, 19).replace('T', ' ');
  }

  /** `July 13, 2019 03:44:48`, as in the report by transaction. */
  longText(at: number): string {
    const wall = this.#wall(at);
    const [year, day, time] = [
      wall.getUTCFullYear(),
      wall.toISOString().slice(8, 10),
      wall.toISOString().slice(11, 19),
    ];
    return `${MONTHS[wall.getUTCMonth()]} ${day}, ${year} ${time}`;
  }

  /** Thirteen digits. */
  epochMs(at: number): string {
    return String(at + this.#skewMs);
  }

  /** A time of a day report, in the form that is set. */
  written(at: number, form: DlrTimes): string {
    switch (form) {
      case 'text':
        return this.dateTime(at);
      case 'long-text':
        return this.longText(at);
      case 'epoch-ms':
        return this.epochMs(at);
      case 'epoch-s':
        return String(Math.floor((at + this.#skewMs) / 1000));
    }
  }

  /** The true instant at which this clock shows `YYYY-MM-DD HH:MM:SS`; null when the text is no such time. */
  readDateTime(text: string): number | null {
    const time = DateTime.fromFormat(text, 'yyyy-MM-dd HH:mm:ss', { zone: this.#zone, locale: 'en' });
    return time.isValid ? time.toMillis() - this.#skewMs : null;
  }

  /** The true instants at which the day `YYYY-MM-DD` of this clock begins and ends; null when there is no such day. */
  readDay(text: string): { start: number; end: number } | null {
    const day = DateTime.fromFormat(text, 'yyyy-MM-dd', { zone: this.#zone, locale: 'en' });
    if (!day.isValid) return null;
    return { start: day.toMillis() - this.#skewMs, end: day.plus({ days: 1 }).toMillis() - this.#skewMs };
  }

  /** What the clock on the wall shows, as if it were UTC. */
  #wall(at: number): Date {
    const shown = at + this.#skewMs;
    const quarter = Math.floor(shown / OFFSET_HOLDS_FOR_MS);
    if (quarter !== this.#quarter) {
      this.#quarter = quarter;
      this.#offsetMs = this.#zone.offset(shown) * 60_000;
    }
    return new Date(shown + this.#offsetMs);
  }
}
