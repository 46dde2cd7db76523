/** SQLSTATE classes of a value, a constraint or a guard that says no: the database is well, and says no again next time. */
const REFUSALS = /^(22|23|P0)[0-9A-Z]{3}$/;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Whether Postgres refused what a statement carries, as opposed to not being there, being busy, or breaking a deadlock. */
export function isRefusalOfData(error: unknown): boolean {
  return REFUSALS.test(codeOf(error));
}

/** Whether a transaction was given up in favour of another one: made again, it succeeds. */
export function lostToAnother(error: unknown): boolean {
  return ['40P01', '40001'].includes(codeOf(error));
}
