import { countOf, rowsOf, type Sql } from '../sql.ts';

/**
 * Takes one run of an audit for the whole fleet: whoever moves its time on runs it. Commit before running: the others wait for
 * this row. A run that fails is made again after the interval.
 */
export async function takeAudit(sql: Sql, name: string, intervalMs: number): Promise<boolean> {
  await sql.query('insert into sendledger.audit (name) values ($1) on conflict do nothing', [name]);
  const taken = await countOf(
    sql,
    `update sendledger.audit a set last_run_at = now()
     where a.name = $1 and a.last_run_at <= now() - $2 * interval '1 ms'`,
    [name, intervalMs],
  );
  return taken === 1;
}

/** Writes down how much an audit found, for whoever shows it. */
export async function finishAudit(sql: Sql, name: string, findings: number): Promise<void> {
  await sql.query('update sendledger.audit set finished_at = now(), findings = $2 where name = $1', [
    name,
    Math.min(findings, 2_147_483_647),
  ]);
}

export interface AuditState {
  readonly name: string;
  readonly findings: number;
  /** Seconds since a run of it last ended; null: never. */
  readonly finishedSecondsAgo: number | null;
}

export async function auditStates(sql: Sql): Promise<AuditState[]> {
  const rows = await rowsOf<{ name: string; findings: number; seconds: string | null }>(
    sql,
    `select a.name, a.findings, extract(epoch from clock_timestamp() - a.finished_at)::text as seconds from sendledger.audit a`,
  );
  return rows.map((row) => ({
    name: row.name,
    findings: row.findings,
    finishedSecondsAgo: row.seconds === null ? null : Number(row.seconds),
  }));
}

/** Those that every fleet runs; others are shown once they have run. */
const ALWAYS = ['past_lease', 'accepted_without_id', 'no_final_state', 'live_duplicates'];

/** An audit as it is shown. */
export interface AuditFigure {
  readonly audit: string;
  readonly findings: number;
  /** Since a run of it last ended, in any process; infinite before the first. */
  readonly ageSeconds: number;
}

/**
 * What was found by audit, 0 and never absent. One that is run for each account (`schedules <account>`) is one figure: the sum, and the
 * age of the oldest.
 */
export function auditFigures(states: readonly AuditState[]): AuditFigure[] {
  // A name with a colon keeps what was compared, and is no audit.
  const ran = states.filter(({ name }) => !name.includes(':')).map(({ name }) => labelOf(name));
  return [...new Set([...ALWAYS, ...ran])].map((audit) => {
    const own = states.filter(({ name }) => !name.includes(':') && labelOf(name) === audit);
    return {
      audit,
      findings: own.reduce((sum, state) => sum + state.findings, 0),
      ageSeconds:
        own.length === 0
          ? Number.POSITIVE_INFINITY
          : Math.max(...own.map((state) => state.finishedSecondsAgo ?? Number.POSITIVE_INFINITY)),
    };
  });
}

const labelOf = (name: string) => name.split(' ')[0] ?? name;
