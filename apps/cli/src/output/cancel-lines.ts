import type { CancelCounts, CancelledMessage, CancelReport } from '@sendledger/core/ledger';
import { table } from './table.ts';
import { count } from './words.ts';

const sums = (counts: CancelCounts): string =>
  `${count(counts.cancelled)} cancelled, ${count(counts.too_late)} too late, ${count(counts.unknown)} unknown`;

/** What would become of them, in one line. */
export function previewLine(counts: CancelCounts): string {
  return `nothing was done; if it were: ${sums(counts)}`;
}

/** The sums, and below them the messages that were not cancelled. */
export function cancelLines(report: CancelReport): string[] {
  if (report.cancellationId === null) return ['There is no such message of this tenant. Nothing was written.'];
  const until =
    report.coversUntil === null ? '' : `; covers what was enqueued until ${report.coversUntil.toISOString()}`;
  const lines = [
    report.notFound
      ? `cancellation ${report.cancellationId}: nothing is known by that name yet, and what comes is covered${until}`
      : `cancellation ${report.cancellationId}: ${sums(report.counts)}${until}`,
  ];
  const left = report.rows.filter((row) => row.outcome !== 'cancelled');
  if (report.providerAsked > 0)
    lines.push(`${count(report.providerAsked)} of them the provider still holds, and was asked to drop`);
  if (left.length === 0) return lines;
  lines.push(
    '',
    table(
      ['ID', 'OUTCOME', 'WITH THE PROVIDER'],
      left.map((row) => [row.id, row.outcome, withProvider(row)]),
    ),
  );
  const others = report.counts.too_late + report.counts.unknown - left.length;
  if (others > 0) lines.push(`and ${count(others)} more; --list names more of them`);
  return lines;
}

/** What the provider still holds, and whether it was asked to drop it: that is no promise, its list or report shows what it did. */
function withProvider({ heldUntil, providerAsked }: CancelledMessage): string {
  if (heldUntil === null) return '';
  const until = `the provider holds it until ${heldUntil.toISOString()}`;
  return providerAsked === true ? `${until} and was asked to drop it` : until;
}
