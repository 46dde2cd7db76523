import {
  type AuditResult,
  auditAcceptedWithoutId,
  auditLiveDuplicates,
  auditNoFinalState,
  auditPastLease,
  auditSchedules,
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
import type { AppContext, Round } from '@sendledger/worker';

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
  /** The fleet takes turns by this. One that is run for each account ends with it. */
  readonly name: string;
  readonly run: () => Promise<AuditResult>;
}

/**
 * Looks for what should not be there, each audit once an interval over the whole fleet: what it finds is counted, and asked of a
 * person once. It repairs nothing. See docs/audits.md. What it counted is exported by ops.
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
    return 'none';
  };
}

function auditsOf(context: AppContext, adapters: ReadonlyMap<string, Adapter>, policy: AuditPolicy): Audit[] {
  const { items } = policy;
  const withoutIds = [...adapters.values()].filter((a) => a.capabilities.idFor === 'none').map((a) => a.provider);
  const reading = (name: string, read: (sql: Sql) => Promise<AuditResult>): Audit => ({
    name,
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
            run: () => auditEvents(context, fn, items),
          },
        ]),
    // Each account by a process that has it.
    ...[...adapters]
      .filter(([, adapter]) => adapter.capabilities.schedule.supported)
      .map(([account, adapter]) => ({
        name: `schedules ${account}`,
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
