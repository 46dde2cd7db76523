/** A message as the simulated provider entered it. */
export interface Accepted {
  readonly number: number;
  readonly mobile: string;
  /** When the request had arrived whole and was read, by the clock of this host. */
  readonly atMs: number;
}

const PAGE = 10_000;

/** What the simulator's own books say, asked over HTTP: it is a process of its own. */
export class ProviderBooks {
  readonly #url: string;

  constructor(simulatorUrl: string) {
    this.#url = simulatorUrl;
  }

  async summary(): Promise<{ accepted: number; requests: number; duplicates: number }> {
    return (await this.#get('summary')) as { accepted: number; requests: number; duplicates: number };
  }

  /** Everything accepted after this many. */
  async accepted(after = 0): Promise<Accepted[]> {
    const all: Accepted[] = [];
    for (let next = after; ; ) {
      const page = (await this.#get(`accepted?after=${next}&limit=${PAGE}`)) as {
        messages: { number: number; mobile: string; acceptedAt: string }[];
        next: number;
      };
      for (const { number, mobile, acceptedAt } of page.messages)
        all.push({ number, mobile, atMs: Date.parse(acceptedAt) });
      if (page.messages.length < PAGE) return all;
      next = page.next;
    }
  }

  async #get(what: string): Promise<unknown> {
    const answer = await fetch(`${this.#url}/_sim/${what}`);
    if (!answer.ok) throw new Error(`the simulator answers ${answer.status}`);
    return answer.json();
  }
}
