import { type Amount, formatAmount, parseAmount } from './money.ts';

/** The account that the client calls with: its money, and whether its credentials still open it. */
export class Account {
  readonly #initial: Amount | null;
  readonly #billed: () => Amount;
  // What was ever put on the account; what is left follows from the books, so that each charge counts at once.
  #granted: Amount | null;
  #broken = false;

  /**
   * @param balance money at the start, a decimal, null for endless; @param billed what was charged so far.
   * @throws RangeError for a balance that is no amount.
   */
  constructor(balance: string | null, billed: () => Amount) {
    this.#billed = billed;
    this.#initial = balance === null ? null : parseAmount(balance);
    this.#granted = this.#initial;
  }

  /**
   * From now on this much is left, a decimal; null: endless money.
   * @throws RangeError for a text that is no amount.
   */
  setBalance(balance: string | null): void {
    this.#granted = balance === null ? null : parseAmount(balance) + this.#billed();
  }

  /** While true, every call of the provider answers 216, sends included. */
  breakCredentials(broken: boolean): void {
    this.#broken = broken;
  }

  get credentialsBroken(): boolean {
    return this.#broken;
  }

  /** What is left, a decimal; null when money is endless. */
  get balance(): string | null {
    return this.#granted === null ? null : formatAmount(this.#granted - this.#billed());
  }

  /** Whether what is left pays for this. */
  covers(price: Amount): boolean {
    return this.#granted === null || this.#billed() + price <= this.#granted;
  }

  /** Back to the start: the first balance, credentials that hold. For books that were emptied as well. */
  reset(): void {
    this.#granted = this.#initial;
    this.#broken = false;
  }
}
