import type { Check } from '../doctor/check.ts';

/** One line for one check; the remedy stands behind an arrow. */
export function checkLine(check: Check): string {
  const line = `${check.status.padEnd(7)}  ${check.check}: ${check.detail}`;
  return check.status === 'ok' ? line : `${line}  → ${check.remedy}`;
}
