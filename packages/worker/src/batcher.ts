/**
 * Collects what arrives while one flight is on its way, and takes it all with the next: group commit without a timer. The
 * busier, the larger the groups; an idle lane waits for nobody.
 */
export class Batcher<Item> {
  readonly #flight: (items: Item[]) => Promise<void>;
  readonly #largest: number;
  readonly #weigh: (item: Item) => number;
  #waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #flying = false;

  /** @param largest weight of a flight at most; an item that is heavier flies alone. */
  constructor(largest: number, weigh: (item: Item) => number, flight: (items: Item[]) => Promise<void>) {
    this.#largest = largest;
    this.#weigh = weigh;
    this.#flight = flight;
  }

  /** Resolves when the item's flight has landed. */
  add(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      void this.#fly();
    });
  }

  #nextSize(): number {
    let weight = 0;
    let size = 0;
    for (const { item } of this.#waiting) {
      weight += this.#weigh(item);
      if (size > 0 && weight > this.#largest) break;
      size++;
    }
    return size;
  }

  async #fly(): Promise<void> {
    if (this.#flying) return;
    this.#flying = true;
    try {
      while (this.#waiting.length > 0) {
        const group = this.#waiting.splice(0, this.#nextSize());
        try {
          await this.#flight(group.map((g) => g.item));
          for (const g of group) g.resolve();
        } catch (error) {
          for (const g of group) g.reject(error);
        }
      }
    } finally {
      this.#flying = false;
    }
  }
}
