/** The day is not this worker's any more: its lease ran out and somebody took it, or its run was cancelled. */
export class DayLost extends Error {
  override readonly name = 'DayLost';
}

/** The worker is told to end; what it has stored of the day stays, and another reads it again. */
export class Stopping extends Error {
  override readonly name = 'Stopping';
}
