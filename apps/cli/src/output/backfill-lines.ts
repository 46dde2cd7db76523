import {
  type BackfillDayStatus,
  type BackfillSummary,
  type BadRowOfRun,
  maskNumber,
  type Orphan,
} from '@sendledger/core/ledger';
import { progressBar } from './progress.ts';
import { table } from './table.ts';
import { count, counted } from './words.ts';

type Run = BackfillSummary & { readonly checkpoints: readonly BackfillDayStatus[] };

/** The runs, a line each. */
export function backfillTable(runs: readonly BackfillSummary[]): string {
  return table(
    ['RUN', 'FROM', 'TO', 'STATE', 'DAYS', 'DONE', 'ROWS', 'NEW', 'ORPHANS', 'BAD'],
    runs.map((run) => [
      run.id,
      run.from,
      run.to,
      stateText(run),
      count(run.days.total),
      progressBar(done(run), run.days.total),
      ...[run.rows, run.fresh, run.orphans, run.badRows].map((sum) => count(Number(sum))),
    ]),
  );
}

/** One run: how far it is, its sums, and the days that are not as they should be. */
export function backfillPage(run: Run): string {
  const { days } = run;
  const waiting = days.waiting + days.stored - days.inHand;
  const lines = [
    `run ${run.id}: ${run.from} to ${run.to}, started by ${run.startedBy} at ${run.startedAt.toISOString()}`,
    `${progressBar(done(run), days.total)}  ${count(days.applied)} of ${counted(days.total, 'day')} applied, ${stateText(run)}` +
      (run.state === 'running' ? `: ${days.inHand} in hand, ${waiting} waiting` : '') +
      (days.cancelled > 0 ? `, ${days.cancelled} cancelled` : ''),
    `${counted(Number(run.rows), 'row')}, ${counted(Number(run.receipts), 'receipt')}, ${count(Number(run.fresh))} of them new; ` +
      `${count(Number(run.applied))} applied, ${counted(Number(run.orphans), 'orphan')}, ${counted(Number(run.badRows), 'bad row')}; ${counted(run.reads, 'read')}`,
  ];
  const troubled = run.checkpoints.filter((day) => day.error !== null && day.finishedAt === null);
  if (troubled.length > 0)
    lines.push(
      '',
      table(
        ['DAY', 'ACCOUNT', 'TRIES', 'NEXT', 'WHY NOT'],
        troubled.map((day) => [
          day.day,
          `${day.provider}/${day.account}`,
          String(day.tries),
          day.inHand ? 'now' : day.nextAt.toISOString(),
          `${day.errorKind}: ${day.error}`,
        ]),
      ),
    );
  const unmapped = new Set(run.checkpoints.flatMap((day) => day.unmappedColumns ?? []));
  if (unmapped.size > 0)
    lines.push('', `columns that nobody has mapped, their values were dropped: ${[...unmapped].join(', ')}`);
  return lines.join('\n');
}

/** Every day of a run. */
export function dayTable(run: Run): string {
  return table(
    ['DAY', 'ACCOUNT', 'STATE', 'TRIES', 'ROWS', 'NEW', 'APPLIED', 'ORPHANS', 'BAD'],
    run.checkpoints.map((day) => [
      day.day,
      `${day.provider}/${day.account}`,
      day.inHand ? `${day.state}, in hand` : day.state,
      String(day.tries),
      ...[day.rows, day.fresh, day.applied, day.orphans, day.badRows].map((sum) =>
        sum === null ? '' : count(Number(sum)),
      ),
    ]),
  );
}

export function orphanTable(orphans: readonly Orphan[], reveal: boolean): string {
  return table(
    ['DAY', 'ACCOUNT', 'TRANSACTION', 'MESSAGE', 'RECIPIENT', 'SENDER', 'STATUS', 'SUBMITTED'],
    orphans.map((one) => [
      one.day,
      `${one.provider}/${one.account}`,
      one.providerTxnId ?? '',
      one.providerMessageId ?? '',
      recipientText(one.recipient, reveal),
      one.senderId ?? '',
      one.statusWord,
      one.submittedAt?.toISOString() ?? '',
    ]),
  );
}

export function badRowTable(rows: readonly BadRowOfRun[]): string {
  return table(
    ['DAY', 'ACCOUNT', 'FILE', 'LINE', 'REASON'],
    rows.map((row) => [row.day, `${row.provider}/${row.account}`, String(row.file), row.line, row.reason]),
  );
}

export const recipientText = (recipient: string | null, reveal: boolean): string =>
  recipient === null ? '' : reveal ? recipient : maskNumber(recipient);

const done = ({ days }: BackfillSummary) => days.applied + days.cancelled;

function stateText({ state, days }: BackfillSummary): string {
  return state === 'running' && days.failing > 0 ? `running, ${days.failing} failing` : state;
}
