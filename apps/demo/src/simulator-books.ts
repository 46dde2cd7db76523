/** What the simulator's own books say. */
export interface SimulatorBooks {
  /** Messages accepted: each was charged. */
  readonly accepted: number;
  readonly billed: string;
}

export async function readBooks(simulatorUrl: string): Promise<SimulatorBooks> {
  return (await ask(`${simulatorUrl}/_sim/summary`)) as SimulatorBooks;
}

const PAGE = 10_000;

/** How many copies of which text went to which number: by `number sha256`, from the log of everything it accepted. */
export async function acceptedCopies(simulatorUrl: string): Promise<Map<string, number>> {
  const copies = new Map<string, number>();
  for (let after = 0; ; ) {
    const page = (await ask(`${simulatorUrl}/_sim/accepted?after=${after}&limit=${PAGE}`)) as {
      messages: { mobile: string; sha256: string }[];
      next: number;
    };
    for (const { mobile, sha256 } of page.messages) {
      const key = `${mobile} ${sha256}`;
      copies.set(key, (copies.get(key) ?? 0) + 1);
    }
    if (page.messages.length < PAGE) return copies;
    after = page.next;
  }
}

async function ask(url: string): Promise<unknown> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return answer.json();
}
