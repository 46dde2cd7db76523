/** Where the messages of a run come from: the example application, or a file of the user's. */
export interface Source {
  /** Messages there will be; null when nobody knows before the end. */
  readonly wanted: number | null;
  /** Messages answered `created` so far. */
  readonly created: number;
  /** Enqueues until there is nothing more, or until `closed`. Calls `rushIsOver` when only a trickle is left. */
  run(closed: AbortSignal, rushIsOver: () => void): Promise<void>;
  /** What else is to be said at the end. */
  report(): string[];
  close(): Promise<void>;
}
