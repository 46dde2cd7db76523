/** What has to be undone at the end, in reverse order of its doing, whatever happened between. */
export class Cleanup {
  readonly #steps: { what: string; undo: () => Promise<void> | void }[] = [];

  add(what: string, undo: () => Promise<void> | void): void {
    this.#steps.push({ what, undo });
  }

  /** Goes on after a step that fails, and answers what did not work. Each step runs once, however often this is called. */
  async run(): Promise<string[]> {
    const failures: string[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.undo();
      } catch (error) {
        failures.push(`${step.what}: ${(error as Error).message}`);
      }
    }
    return failures;
  }
}
