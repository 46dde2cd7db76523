/**
 * A terminal's Ctrl-C reaches this process directly and again through npm and the launcher, which pass on what they get.
 * Signals within this time are one.
 */
const SAME_MS = 1_000;

/** Ctrl-C, kill, or a terminal that was closed. */
export class Interrupt {
  readonly #asked = new AbortController();
  readonly #now = new AbortController();
  #firstAt = 0;
  #by: NodeJS.Signals | null = null;

  /** Somebody wants the demo to end. */
  get asked(): AbortSignal {
    return this.#asked.signal;
  }

  /** Nobody wants to wait any more: a second Ctrl-C, SIGTERM or SIGHUP. */
  get now(): AbortSignal {
    return this.#now.signal;
  }

  /** What a shell expects of a program that a signal has ended: 128 and its number. */
  get exitCode(): number {
    return this.#by === 'SIGTERM' ? 143 : this.#by === 'SIGHUP' ? 129 : 130;
  }

  listen(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.#signal(signal));
  }

  #signal(signal: NodeJS.Signals): void {
    this.#by ??= signal;
    const now = Date.now();
    if (this.#firstAt === 0) this.#firstAt = now;
    const again = now - this.#firstAt >= SAME_MS;
    this.#asked.abort(new Interrupted());
    if (again || signal !== 'SIGINT') this.#now.abort(new Interrupted());
  }
}

export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor() {
    super('interrupted');
  }
}
