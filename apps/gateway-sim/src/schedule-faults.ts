import type { ScheduleFaultName } from './schedule-fault-names.ts';

/** Decides what goes wrong with updates and deletions of schedules, by script alone. An outage comes before it. */
export class ScheduleFaults {
  #script: { fault: ScheduleFaultName; left: number }[] = [];

  /** The next `count` updates or deletions do this; calls queue up behind one another. */
  next(fault: ScheduleFaultName, count = 1): void {
    this.#script.push({ fault, left: count });
  }

  /** What the present update or deletion does; null: nothing goes wrong. */
  pick(): ScheduleFaultName | null {
    const scripted = this.#script[0];
    if (scripted === undefined) return null;
    scripted.left--;
    if (scripted.left <= 0) this.#script.shift();
    return scripted.fault;
  }

  clear(): void {
    this.#script = [];
  }
}
