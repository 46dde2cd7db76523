/** What a point may ask the transaction it stands in. */
export interface Within {
  query(text: string): Promise<{ rows: unknown[] }>;
}

/** Whether a point can stop this process. */
export const ARMED: boolean = false;

/**
 * A named point of the pipeline: here, and everywhere but in the kill matrix, nothing happens at it. Under
 * `--conditions=sendledger-kill` another module stands in this one's place, which can be told to stop the process exactly there.
 *
 * @param within the transaction whose commit the point stands before or after
 */
export function at(_point: string, _within?: Within): Promise<void> | undefined {
  return undefined;
}
