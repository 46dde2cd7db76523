/** How many calls of the provider arrived, answered or not, by endpoint. */
export interface Calls {
  send: number;
  reportByTransaction: number;
  getDlr: number;
  dayReport: number;
  /** Archives fetched from where an answer said they lie. */
  dayFile: number;
  readstatus: number;
  scheduleRead: number;
  scheduleUpdate: number;
  scheduleDelete: number;
  /** The three schedule calls together. */
  schedules: number;
}

export type CallName = Exclude<keyof Calls, 'schedules'>;

/** Counts calls, whether or not an outage or a fault answers them. */
export class CallCounter {
  #counts = noCalls();

  add(name: CallName): void {
    this.#counts[name]++;
  }

  counts(): Calls {
    const { scheduleRead, scheduleUpdate, scheduleDelete } = this.#counts;
    return { ...this.#counts, schedules: scheduleRead + scheduleUpdate + scheduleDelete };
  }

  reset(): void {
    this.#counts = noCalls();
  }
}

function noCalls(): Record<CallName, number> {
  return {
    send: 0,
    reportByTransaction: 0,
    getDlr: 0,
    dayReport: 0,
    dayFile: 0,
    readstatus: 0,
    scheduleRead: 0,
    scheduleUpdate: 0,
    scheduleDelete: 0,
  };
}
