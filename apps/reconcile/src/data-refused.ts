/** SQLSTATE classes of a value, a constraint or a guard that says no: the database is well, and says no again next time. */
const REFUSALS = /^(22|23|P0)[0-9A-Z]{3}$/;

/** Whether Postgres refused what a statement carries, as opposed to not being there, being busy, or breaking a deadlock. */
export function isRefusalOfData(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && REFUSALS.test(error.code);
}
