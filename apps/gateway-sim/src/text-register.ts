import { hash } from 'node:crypto';

const DIGEST_BYTES = 32;

/**
 * Gives each distinct text a number, remembering its SHA-256 and not the text; an open-addressing table, because a Map
 * of strings takes several times the memory and ends at 16 million entries. The first `keep` texts are kept as well, for
 * reports to quote.
 */
export class TextRegister {
  readonly #keep: number;
  readonly #kept: string[] = [];
  #digests = Buffer.alloc(1024 * DIGEST_BYTES);
  #slots = new Uint32Array(2048);
  #count = 0;

  constructor(keep: number) {
    this.#keep = keep;
  }

  /** The number of this text, a new one if it was never seen. */
  register(text: string): number {
    const digest = hash('sha256', text, 'buffer');
    const slot = this.#slotOf(digest);
    const known = this.#slots[slot] ?? 0;
    if (known !== 0) return known - 1;
    if ((this.#count + 1) * DIGEST_BYTES > this.#digests.length) this.#digests = doubled(this.#digests);
    digest.copy(this.#digests, this.#count * DIGEST_BYTES);
    this.#count++;
    this.#slots[slot] = this.#count;
    if (this.#count <= this.#keep) this.#kept.push(text);
    if (this.#count * 2 > this.#slots.length) this.#rehash();
    return this.#count - 1;
  }

  /** The number of this text, or null if it was never registered. */
  find(text: string): number | null {
    const known = this.#slots[this.#slotOf(hash('sha256', text, 'buffer'))] ?? 0;
    return known === 0 ? null : known - 1;
  }

  /** The SHA-256 of a registered text, in hex. */
  sha256(index: number): string {
    return this.#digests.toString('hex', index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
  }

  /** The text itself if it was among those kept, else "". */
  text(index: number): string {
    return this.#kept[index] ?? '';
  }

  #slotOf(digest: Buffer): number {
    const mask = this.#slots.length - 1;
    for (let slot = digest.readUInt32LE() & mask; ; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot] ?? 0;
      if (entry === 0) return slot;
      const start = (entry - 1) * DIGEST_BYTES;
      if (digest.equals(this.#digests.subarray(start, start + DIGEST_BYTES))) return slot;
    }
  }

  #rehash(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    const mask = this.#slots.length - 1;
    for (let entry = 1; entry <= this.#count; entry++) {
      let slot = this.#digests.readUInt32LE((entry - 1) * DIGEST_BYTES) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = entry;
    }
  }
}

function doubled(buffer: Buffer): Buffer<ArrayBuffer> {
  const larger = Buffer.alloc(buffer.length * 2);
  buffer.copy(larger);
  return larger;
}
