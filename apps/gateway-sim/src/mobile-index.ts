import { NumberColumn } from './number-column.ts';

/** Finds the messages of one number without looking at the others: about 24 to 48 bytes a number and 8 a message. */
export class MobileIndex {
  #mobiles = new Float64Array(2048);
  // The last message of the number, counted from 1; 0 is an empty slot.
  #last = new Uint32Array(2048);
  #distinct = 0;
  // By message: the one before it of the same number, counted from 1; 0 is none.
  readonly #previous = new NumberColumn();

  /** How many messages were entered. */
  get length(): number {
    return this.#previous.length;
  }

  /** Enters the next message. @param mobile digits as a number. */
  push(mobile: number): void {
    const slot = this.#slotOf(mobile);
    const last = this.#last[slot] ?? 0;
    this.#previous.push(last);
    this.#mobiles[slot] = mobile;
    this.#last[slot] = this.#previous.length;
    if (last !== 0) return;
    this.#distinct++;
    if (this.#distinct * 2 > this.#last.length) this.#grow();
  }

  /** The messages of a number, counted from 0, oldest first. */
  messagesOf(mobile: number): number[] {
    const found: number[] = [];
    for (let last = this.#last[this.#slotOf(mobile)] ?? 0; last !== 0; last = this.#previous.at(last - 1)) {
      found.push(last - 1);
    }
    return found.reverse();
  }

  #slotOf(mobile: number): number {
    const mask = this.#last.length - 1;
    let slot = Math.imul((mobile % 4_294_967_291) >>> 0, 0x9e3779b1) >>> 0;
    slot = (slot ^ (slot >>> 15)) & mask;
    while (this.#last[slot] !== 0 && this.#mobiles[slot] !== mobile) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [mobiles, last] = [this.#mobiles, this.#last];
    this.#mobiles = new Float64Array(last.length * 2);
    this.#last = new Uint32Array(last.length * 2);
    for (let from = 0; from < last.length; from++) {
      const message = last[from] ?? 0;
      if (message === 0) continue;
      const to = this.#slotOf(mobiles[from] ?? 0);
      this.#mobiles[to] = mobiles[from] ?? 0;
      this.#last[to] = message;
    }
  }
}
