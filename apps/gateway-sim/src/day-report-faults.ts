/** What can go wrong with one report of a day. The README says what each does. */
export const DAY_REPORT_FAULT_NAMES = [
  'not-available',
  'unlisted-error',
  'throttle-429',
  'http-500',
  'html-under-200',
  'reset',
  'hold',
  'truncated',
  'cut-off',
  'wrong-checksum',
  'bad-rows',
  'foreign-link',
] as const;

export type DayReportFaultName = (typeof DAY_REPORT_FAULT_NAMES)[number];

/** How the reports of days are given, and what goes wrong with them. An outage comes before it. */
export class DayReports {
  #script: { fault: DayReportFaultName; left: number }[] = [];
  readonly #given = new Set<string>();
  readonly #links = new Map<string, string>();
  /** Each day's report is given once; after that the day is empty. */
  once = false;
  /** The answer says in JSON where the archive lies. */
  asLink = false;

  /** The next `count` reports do this; calls queue up behind one another. */
  next(fault: DayReportFaultName, count = 1): void {
    this.#script.push({ fault, left: count });
  }

  /** What the present report does; null: nothing goes wrong. */
  pick(): DayReportFaultName | null {
    const scripted = this.#script[0];
    if (scripted === undefined) return null;
    scripted.left--;
    if (scripted.left <= 0) this.#script.shift();
    return scripted.fault;
  }

  /** Whether a day has rows for this call, where each is given once. */
  give(day: string): boolean {
    const fresh = !this.#given.has(day);
    this.#given.add(day);
    return fresh || !this.once;
  }

  /** Where the archive of a day lies from now on. @param token as drawn by the caller. */
  link(token: string, day: string): void {
    this.#links.set(token, day);
  }

  dayAt(token: string): string | null {
    return this.#links.get(token) ?? null;
  }

  clear(): void {
    this.#script = [];
    this.#given.clear();
    this.#links.clear();
    this.once = false;
    this.asLink = false;
  }
}
