const CHUNK = 1 << 16;

/** A list of numbers that grows without copying and holds each in eight bytes. */
export class NumberColumn {
  readonly #chunks: Float64Array[] = [];
  length = 0;

  push(value: number): void {
    let chunk = this.#chunks[this.length >> 16];
    if (chunk === undefined) {
      chunk = new Float64Array(CHUNK);
      this.#chunks.push(chunk);
    }
    chunk[this.length & (CHUNK - 1)] = value;
    this.length++;
  }

  /** @throws RangeError outside of the list. */
  at(index: number): number {
    const value = index < this.length ? this.#chunks[index >> 16]?.[index & (CHUNK - 1)] : undefined;
    if (value === undefined) throw new RangeError(`no entry ${index} among ${this.length}`);
    return value;
  }
}
