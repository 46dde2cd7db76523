/** Where a run plays: servers, workers and a provider that are up, whoever started them. */
export interface Stage {
  /** The ledger, as a role that may read it. */
  readonly viewerUrl: string;
  /** The ledger, as a role that may enqueue. */
  readonly shopUrl: string;
  /** Null: the workers poll. */
  readonly redisUrl: string | null;
  readonly simulatorUrl: string;
  /** Where everything is, for whoever wants to look. */
  readonly whereabouts: readonly string[];
  /** Stands in the id of each order, so that two runs in one ledger tell different events. Empty: the ledger is this run's own. */
  readonly run: string;
  /** Resolves when a process has died that the run needs, with what happened. */
  readonly broken: Promise<string>;
  /** Called before the books are compared; answers what did not end well. */
  lastOrders(): Promise<readonly string[]>;
}
