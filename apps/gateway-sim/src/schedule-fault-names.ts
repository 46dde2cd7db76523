/**
 * What can go wrong with one update or deletion of a schedule. The README says what each does; "done" always means: the
 * schedule was moved or deleted.
 */
export const SCHEDULE_FAULT_NAMES = [
  'hang-before',
  'hold-before',
  'refuse',
  'http-500',
  'done-then-hang',
  'done-then-reset',
  'done-then-502',
] as const;

export type ScheduleFaultName = (typeof SCHEDULE_FAULT_NAMES)[number];
