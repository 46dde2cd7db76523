import { randomBytes } from 'node:crypto';

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
}

/** What became of a change: `too-late` when the time has come, `unknown` for no such schedule or a deleted one. */
export type ScheduleChange = 'done' | 'too-late' | 'unknown';

/** Every schedule of the account, those that no send of the client made included. */
export class Schedules {
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #byId = new Map<string, { -readonly [Field in keyof Schedule]: Schedule[Field] }>();

  /** @param changed called after a schedule was moved or deleted. */
  constructor(now: () => number = Date.now, changed: () => void = () => undefined) {
    this.#now = now;
    this.#changed = changed;
  }

  /**
   * Plants a schedule: listed and open to change like any other, but nothing was charged for it and no report has rows
   * of it. Answers its id, an invented one if none is given.
   */
  add(planted: Partial<Omit<Schedule, 'scheduledAt'>> & Pick<Schedule, 'scheduledAt'>): string {
    const { uuId = inventedId(), total = 1, updatedAt = null, cancelledAt = null } = planted;
    const createdAt = planted.createdAt ?? this.#now();
    this.#byId.set(uuId, { uuId, total, createdAt, scheduledAt: planted.scheduledAt, updatedAt, cancelledAt });
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
    const now = this.#now();
    const schedule = this.#byId.get(uuId);
    if (schedule === undefined || schedule.cancelledAt !== null) return 'unknown';
    if (now >= schedule.scheduledAt) return 'too-late';
    schedule.scheduledAt = scheduledAt;
    schedule.updatedAt = now;
    this.#changed();
    return 'done';
  }

  /** Deletes a schedule whose time has not come: it will not be delivered. It stays in the list. */
  cancel(uuId: string): ScheduleChange {
    const now = this.#now();
    const schedule = this.#byId.get(uuId);
    if (schedule === undefined || schedule.cancelledAt !== null) return 'unknown';
    if (now >= schedule.scheduledAt) return 'too-late';
    schedule.cancelledAt = now;
    schedule.updatedAt = now;
    this.#changed();
    return 'done';
  }

  clear(): void {
    this.#byId.clear();
  }
}

// Above the ids that sends get, so that the two never meet.
function inventedId(): string {
  return `9${(randomBytes(8).readBigUInt64BE() % 10n ** 17n).toString().padStart(18, '0')}`;
}
