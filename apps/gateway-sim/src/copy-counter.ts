/** How many copies of one text went to one number. */
export interface Copies {
  mobile: number;
  text: number;
  copies: number;
}

/** Counts copies by (number, text) in typed arrays: about 32 bytes a pair, where a Map of keys would take 150. */
export class CopyCounter {
  #mobiles = new Float64Array(2048);
  #texts = new Uint32Array(2048);
  #copies = new Uint32Array(2048);
  /** Distinct (number, text) pairs. */
  pairs = 0;

  /** Counts one more copy. @param mobile digits as a number, @param text its number in the register. */
  add(mobile: number, text: number): void {
    const slot = this.#slotOf(mobile, text);
    const copies = this.#copies[slot] ?? 0;
    this.#mobiles[slot] = mobile;
    this.#texts[slot] = text;
    this.#copies[slot] = copies + 1;
    if (copies > 0) return;
    this.pairs++;
    if (this.pairs * 2 > this.#copies.length) this.#grow();
  }

  copies(mobile: number, text: number): number {
    return this.#copies[this.#slotOf(mobile, text)] ?? 0;
  }

  /** Every pair with more than one copy. */
  *duplicates(): Generator<Copies> {
    for (let slot = 0; slot < this.#copies.length; slot++) {
      const copies = this.#copies[slot] ?? 0;
      if (copies > 1) yield { mobile: this.#mobiles[slot] ?? 0, text: this.#texts[slot] ?? 0, copies };
    }
  }

  #slotOf(mobile: number, text: number): number {
    const mask = this.#copies.length - 1;
    let slot = hash(mobile, text) & mask;
    while (this.#copies[slot] !== 0 && !(this.#mobiles[slot] === mobile && this.#texts[slot] === text)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #grow(): void {
    const [mobiles, texts, copies] = [this.#mobiles, this.#texts, this.#copies];
    this.#mobiles = new Float64Array(copies.length * 2);
    this.#texts = new Uint32Array(copies.length * 2);
    this.#copies = new Uint32Array(copies.length * 2);
    for (let from = 0; from < copies.length; from++) {
      const count = copies[from] ?? 0;
      if (count === 0) continue;
      const to = this.#slotOf(mobiles[from] ?? 0, texts[from] ?? 0);
      this.#mobiles[to] = mobiles[from] ?? 0;
      this.#texts[to] = texts[from] ?? 0;
      this.#copies[to] = count;
    }
  }
}

function hash(mobile: number, text: number): number {
  let value = Math.imul((mobile % 4_294_967_291) >>> 0, 0x9e3779b1) ^ Math.imul(text + 0x7f4a7c15, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}
