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
