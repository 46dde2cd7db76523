import { randomBytes } from 'node:crypto';
import { ScheduleFaults } from './schedule-faults.ts';

/** A send that waits for its time, or did. Instants are milliseconds since the epoch of the true clock. */
export interface Schedule {
  /** The transaction id that the send was answered with. */
  readonly uuId: string;
  /** How many messages it holds. */
  readonly total: number;
  readonly createdAt: number;
  readonly scheduledAt: number;
  /** When it was last moved or deleted; null: never. */
  readonly updatedAt: number | null;
  /** When it was deleted; null: it was not. */
  readonly cancelledAt: number | null;
  /** When it went out by `dispatch`, ahead of its time; null: it goes out at `scheduledAt`, or did. */
  readonly dispatchedAt: number | null;
}

/** When a schedule goes out, or did, unless it was deleted. */
export function goesOutAt({ dispatchedAt, scheduledAt }: Schedule): number {
  return dispatchedAt ?? scheduledAt;
}

/** What became of a change: `too-late` when it has gone out, `unknown` for no such schedule or a deleted one. */
export type ScheduleChange = 'done' | 'too-late' | 'unknown';

type Changeable = { -readonly [Field in keyof Schedule]: Schedule[Field] };

/** Every schedule of the account, those that no send of the client made included. */
export class Schedules {
  /** What goes wrong with the calls that move and delete schedules; the same as `/_sim/schedules/faults`. */
  readonly faults = new ScheduleFaults();
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #byId = new Map<string, Changeable>();

  /** @param changed called after a schedule was moved, deleted or dispatched. */
  constructor(now: () => number = Date.now, changed: () => void = () => undefined) {
    this.#now = now;
    this.#changed = changed;
  }

  /**
   * Plants a schedule: listed and open to change like any other, but nothing was charged for it and no report has rows
   * of it. Answers its id, an invented one if none is given.
   */
  add(planted: Partial<Omit<Schedule, 'scheduledAt'>> & Pick<Schedule, 'scheduledAt'>): string {
    const { uuId = inventedId(), total = 1, updatedAt = null, cancelledAt = null, dispatchedAt = null } = planted;
    const createdAt = planted.createdAt ?? this.#now();
    const { scheduledAt } = planted;
    this.#byId.set(uuId, { uuId, total, createdAt, scheduledAt, updatedAt, cancelledAt, dispatchedAt });
    return uuId;
  }

  /** The schedule with this id, or null. The object follows later changes. */
  find(uuId: string): Schedule | null {
    return this.#byId.get(uuId) ?? null;
  }

  /** All, in the order in which they were made. */
  list(): Schedule[] {
    return [...this.#byId.values()];
  }

  /** Moves a schedule whose time has not come. @param scheduledAt the new time. */
  move(uuId: string, scheduledAt: number): ScheduleChange {
    return this.#change(uuId, (schedule, now) => {
      schedule.scheduledAt = scheduledAt;
      schedule.updatedAt = now;
    });
  }

  /** Deletes a schedule whose time has not come: it will not be delivered. It stays in this list. */
  cancel(uuId: string): ScheduleChange {
    return this.#change(uuId, (schedule, now) => {
      schedule.cancelledAt = now;
      schedule.updatedAt = now;
    });
  }

  /**
   * Its time comes now: it goes out at once, and a change that follows is too late. It keeps the time for which it was
   * scheduled, and counts as unchanged.
   */
  dispatch(uuId: string): ScheduleChange {
    return this.#change(uuId, (schedule, now) => {
      schedule.dispatchedAt = now;
    });
  }

  #change(uuId: string, make: (schedule: Changeable, now: number) => void): ScheduleChange {
    const now = this.#now();
    const schedule = this.#byId.get(uuId);
    if (schedule === undefined || schedule.cancelledAt !== null) return 'unknown';
    if (now >= goesOutAt(schedule)) return 'too-late';
    make(schedule, now);
    this.#changed();
    return 'done';
  }

  /** Forgets every schedule and every fault. */
  clear(): void {
    this.#byId.clear();
    this.faults.clear();
  }
}

// Above the ids that sends get, so that the two never meet.
function inventedId(): string {
  return `9${(randomBytes(8).readBigUInt64BE() % 10n ** 17n).toString().padStart(18, '0')}`;
}
