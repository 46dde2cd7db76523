import { randomUUID } from 'node:crypto';
import type { Message } from '@sendledger/core';
import { CODE_TEMPLATE } from '../support/house.ts';

/** Routes of one account: what the first cannot deliver goes by the second. */
export const ROUTE = 'main';
export const SECOND_ROUTE = 'second';

/** Numbers that the provider accepts and never delivers. */
export const UNDELIVERABLE = /7$/;

const FIRST_NUMBERS = 40;
const PLACE_OF_UNDELIVERABLE = 7;
/** Behind the first numbers; a witness's never ends with 8. */
const PLACE_ASIDE = 48;

/** The messages of one cell, whose numbers nobody else has. */
export class CellMessages {
  readonly #cell: number;
  #witnesses = 0;

  /** @param cell numbers the cells of a fleet, from 0 */
  constructor(cell: number) {
    if (cell >= 900_000) throw new RangeError('no numbers left');
    this.#cell = cell;
  }

  /** Fits the first messages of the cell and not its witnesses. */
  get firstNumbers(): RegExp {
    return new RegExp(`^9198${100_000 + this.#cell}[0-3]\\d$`);
  }

  /** Any number of the cell, as `like` of SQL understands it. */
  get numbersLike(): string {
    return `9198${100_000 + this.#cell}__`;
  }

  /**
   * A code, two that travel in one request, one that is not sent again by itself, one that cannot be delivered and has another
   * way to go, and one like any other.
   */
  first(): Message[] {
    const together = this.#text('for both of you');
    return [
      {
        class: 'otp',
        to: this.#number(0),
        event: event(),
        route: ROUTE,
        template: { id: CODE_TEMPLATE.template_id, params: { text: this.#text('code') } },
      },
      this.#plain(1, together),
      this.#plain(2, together),
      this.#plain(3, this.#text('plain')),
      { ...this.#plain(4, this.#text('once')), onProvenAbsent: 'stop' },
      {
        ...this.#plain(PLACE_OF_UNDELIVERABLE, this.#text('first way')),
        fallback: [{ route: SECOND_ROUTE, body: this.#text('other way') }],
      },
    ];
  }

  /** Numbers of what is beside the first messages: nothing goes wrong with their requests, and no witness has one. */
  get asideNumbers(): RegExp {
    return new RegExp(`^9198${100_000 + this.#cell}[4-9]8$`);
  }

  /** How these rows may end, whatever else is a fault: by their text. */
  readonly endings = new Map<string, string>();

  unwanted(): Message {
    return this.#aside('not wanted', 'cancelled');
  }

  /** Of one recipient and purpose; the second takes the place of the first. */
  codes(): [Message, Message] {
    const code = (what: string): Message => ({
      class: 'otp',
      to: this.#number(PLACE_ASIDE),
      event: event(),
      route: ROUTE,
      template: { id: CODE_TEMPLATE.template_id, params: { text: this.#text(what) } },
    });
    this.endings.set(this.#text('older code'), 'cancelled');
    return [code('older code'), code('newer code')];
  }

  shortLived(ms: number): Message {
    return { ...this.#aside('of no use later', 'expired'), submitBy: new Date(Date.now() + ms) };
  }

  wallClock(scheduledFor: Date, scheduledTz: string): Message {
    return { ...this.#aside('by the clock', null), scheduledFor, scheduledTz };
  }

  /** Cancelled while the provider holds it, in the end. */
  held(scheduledFor: Date): Message {
    return { ...this.#aside('not yet', 'failed'), scheduledFor, heldBy: 'provider' };
  }

  /** In a class whose receipts are waited for a moment only. */
  unreported(): Message {
    return { ...this.#aside('an offer', 'expired'), class: 'promotional' };
  }

  /** Sent another way as well where it is not delivered soon. */
  hurried(): Message {
    const fallback = [{ route: SECOND_ROUTE, body: this.#text('in a hurry'), afterSeconds: 1, mayDuplicate: true }];
    return { ...this.#aside('soon', null), fallback };
  }

  #aside(what: string, ending: string | null): Message {
    if (ending !== null) this.endings.set(this.#text(what), ending);
    return this.#plain(PLACE_ASIDE, this.#text(what));
  }

  /** Three by each route. */
  warmUp(): Message[] {
    return [ROUTE, SECOND_ROUTE].flatMap((route, i) =>
      [1, 2, 3].map((place) => ({ ...this.#plain(10 * i + place, this.#text(`first of all, ${place}`)), route })),
    );
  }

  /** One that nothing happens to, after the others; null when there is no number left. */
  witness(): Message | null {
    const [ten, one] = [this.#witnesses % 6, Math.floor(this.#witnesses / 6)];
    // None ends with 7.
    if (one > 6) return null;
    this.#witnesses++;
    return this.#plain(FIRST_NUMBERS + ten * 10 + one, this.#text(`witness ${this.#witnesses}`));
  }

  #plain(place: number, body: string): Message {
    return { class: 'transactional', to: this.#number(place), event: event(), route: ROUTE, body };
  }

  #number(place: number): string {
    return `+9198${100_000 + this.#cell}${String(place).padStart(2, '0')}`;
  }

  #text(what: string): string {
    return `Cell ${this.#cell}: ${what}`;
  }
}

const event = () => ({ type: 'kill', id: randomUUID() });
