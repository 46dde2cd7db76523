/** A binary heap of things that fall due: the earliest is at hand, whatever the order in which they came. */
export class DueQueue<T extends { dueAt: number }> {
  #entries: T[] = [];

  get first(): T | undefined {
    return this.#entries[0];
  }

  /** How many there are that will ever fall due. */
  get pending(): number {
    return this.#entries.reduce((total, { dueAt }) => total + (dueAt === Number.POSITIVE_INFINITY ? 0 : 1), 0);
  }

  push(entry: T): void {
    const entries = this.#entries;
    let place = entries.length;
    while (place > 0) {
      const above = (place - 1) >>> 1;
      const parent = entries[above];
      if (parent === undefined || parent.dueAt <= entry.dueAt) break;
      entries[place] = parent;
      place = above;
    }
    entries[place] = entry;
  }

  /** Takes the earliest. */
  pop(): T | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (last !== undefined && entries.length > 0) this.#sink(last);
    return first;
  }

  /** Takes all, in no order, and leaves the queue empty. */
  drain(): T[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }

  #sink(entry: T): void {
    const entries = this.#entries;
    let place = 0;
    for (;;) {
      const left = entries[2 * place + 1];
      const right = entries[2 * place + 2];
      if (left === undefined) break;
      const rightIsLess = right !== undefined && right.dueAt < left.dueAt;
      const child = rightIsLess ? right : left;
      if (child.dueAt >= entry.dueAt) break;
      entries[place] = child;
      place = 2 * place + (rightIsLess ? 2 : 1);
    }
    entries[place] = entry;
  }
}
