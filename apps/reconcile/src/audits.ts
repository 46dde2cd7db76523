import {
  type AuditResult,
  auditAcceptedWithoutId,
  auditLiveDuplicates,
  auditNoFinalState,
  auditPastLease,
  auditSchedules,
  auditStates,
  closeEventsFailure,
  compareEvents,
  countEvents,
  durably,
  eventsFunction,
  finishAudit,
  hoursToAudit,
  openDifferences,
  openEventsFailure,
  type Sql,
  takeAudit,
} from '@sendledger/core/ledger';
import type { Adapter } from '@sendledger/gateway';
import { type AppContext, Gauge, type Round } from '@sendledger/worker';

export interface AuditPolicy {
  /** Between two runs of one audit, over the whole fleet. */
  readonly intervalMs: number;
  /** Review items opened by one run. */
  readonly items: number;
  /** `schema.function` of the application that counts its events; without it that audit is not run. */
  readonly eventsFunction: string | undefined;
}

/** An audit reads for a person; it must not hold an old snapshot for long. */
/** An audit reads whole days: there the planner may read a table from end to end. */
const LONGEST = `select set_config('statement_timeout', '60s', true), set_config('enable_seqscan', 'on', true)`;

interface Audit {
  /** The fleet takes turns by this; it begins with its label. */
  readonly name: string;
  readonly label: string;
  readonly run: () => Promise<AuditResult>;
}

/**
 * Looks for what should not be there, each audit once an interval over the whole fleet: what it finds is counted, and asked of a
 * person once. It repairs nothing. See docs/audits.md. The figures are shown by every process, whoever ran the audit.
 *
 * @param adapters by `provider/account`
 * @throws SendledgerError SENDLEDGER_CONFIG for a function that is not named as it must be
 */
export function auditsRound(
  context: AppContext,
  adapters: ReadonlyMap<string, Adapter>,
  policy: AuditPolicy,
): () => Promise<Round> {
  const audits = auditsOf(context, adapters, policy);
  const labels = [...new Set(audits.map((audit) => audit.label))];
  const findings = new Gauge({
    name: 'sendledger_audit_findings',
    help: 'What the last run of an audit found; 0 when nothing.',
    labelNames: ['audit'],
    registers: [context.registry],
  });
  const age = new Gauge({
    name: 'sendledger_audit_age_seconds',
    help: 'Seconds since a run of an audit last ended, in any process; +Inf before the first.',
    labelNames: ['audit'],
    registers: [context.registry],
  });
  for (const audit of labels) {
    findings.set({ audit }, 0);
    age.set({ audit }, Number.POSITIVE_INFINITY);
  }

  return async () => {
    for (const audit of audits) {
      try {
        if (!(await takeAudit(context.sql, audit.name, policy.intervalMs))) continue;
        const found = await audit.run();
        await finishAudit(context.sql, audit.name, found.findings);
        const line = { audit: audit.name, ...found };
        if (found.opened > 0) context.log.warn(line, 'audit_found');
        else context.log.debug(line, 'audit_done');
      } catch (err) {
        // Made again after the interval; until then its age grows, and that is what is alarmed on.
        context.log.error({ err, audit: audit.name }, 'audit_failed');
      }
    }
    const states = new Map((await auditStates(context.sql)).map((state) => [state.name, state]));
    for (const label of labels) {
      const own = audits.filter((audit) => audit.label === label).map((audit) => states.get(audit.name));
      findings.set(
        { audit: label },
        own.reduce((sum, state) => sum + (state?.findings ?? 0), 0),
      );
      age.set({ audit: label }, Math.max(...own.map((state) => state?.finishedSecondsAgo ?? Number.POSITIVE_INFINITY)));
    }
    return 'none';
  };
}

function auditsOf(context: AppContext, adapters: ReadonlyMap<string, Adapter>, policy: AuditPolicy): Audit[] {
  const { items } = policy;
  const withoutIds = [...adapters.values()].filter((a) => a.capabilities.idFor === 'none').map((a) => a.provider);
  const reading = (name: string, read: (sql: Sql) => Promise<AuditResult>): Audit => ({
    name,
    label: name,
    run: () =>
      durably(context.pool, async (sql) => {
        await sql.query(LONGEST);
        return read(sql);
      }),
  });
  const fn = policy.eventsFunction === undefined ? undefined : eventsFunction(policy.eventsFunction);
  return [
    reading('past_lease', (sql) => auditPastLease(sql, items)),
    reading('accepted_without_id', (sql) => auditAcceptedWithoutId(sql, items, withoutIds)),
    reading('no_final_state', (sql) => auditNoFinalState(sql, items)),
    reading('live_duplicates', (sql) => auditLiveDuplicates(sql, items)),
    ...(fn === undefined
      ? []
      : [
          {
            name: 'events_without_messages',
            label: 'events_without_messages',
            run: () => auditEvents(context, fn, items),
          },
        ]),
    // Each account by a process that has it.
    ...[...adapters]
      .filter(([, adapter]) => adapter.capabilities.schedule.supported)
      .map(([account, adapter]) => ({
        name: `schedules ${account}`,
        label: 'schedules',
        run: () => auditHeld(context, account, adapter, items),
      })),
  ];
}

/** The application is asked in a transaction of its own: what fails there is a question to a person, and no crash. */
async function auditEvents(context: AppContext, fn: string, items: number): Promise<AuditResult> {
  let opened = 0;
  let beyond = 0;
  for (const hour of await hoursToAudit(context.sql)) {
    let events: Awaited<ReturnType<typeof countEvents>>;
    try {
      events = await durably(context.pool, (sql) => countEvents(sql, fn, hour));
    } catch (err) {
      context.log.error({ err, function: fn }, 'events_function_failed');
      const error = err instanceof Error ? err.message : String(err);
      await openEventsFailure(context.sql, fn, error);
      break;
    }
    const found = await durably(context.pool, async (sql) => {
      await sql.query(LONGEST);
      return compareEvents(sql, hour, events, items);
    });
    await closeEventsFailure(context.sql, fn);
    opened += found.opened;
    beyond += Math.max(0, found.findings - items);
  }
  return { findings: (await openDifferences(context.sql)) + beyond, opened };
}

/** No transaction is open while the provider is asked. */
async function auditHeld(context: AppContext, account: string, adapter: Adapter, limit: number): Promise<AuditResult> {
  const answer = await adapter.heldSchedules();
  if (answer.kind === 'unavailable') throw new Error(`${account} does not say what it holds: ${answer.detail}`);
  return durably(context.pool, async (sql) => {
    await sql.query(LONGEST);
    return auditSchedules(sql, account, answer.schedules, { limit, complete: answer.unreadableRows === 0 });
  });
}
