import { type Message, type PreparedMessage, prepareMessage } from '@sendledger/core';
import type { DirectoryCache } from './directory.ts';
import {
  type EnqueueResult,
  originsOf,
  type RowOrigin,
  refusalOf,
  refusedResult,
  writtenResult,
} from './enqueue-result.ts';
import { callLedger, type LedgerAnswer, namedError } from './ledger-call.ts';
import { MessageRefused, type Refusal } from './message-refused.ts';
import type { SqlExecutor } from './sql-executor.ts';

/** `throw`: one refused message refuses the call. `report`: the good ones are written, the others answered. */
export type OnProblem = 'throw' | 'report';

export interface EnqueueSettings {
  readonly tenant: string | undefined;
  readonly defaultRegion: string | undefined;
  readonly onProblem: OnProblem;
}

export interface Enqueued {
  readonly results: readonly EnqueueResult[];
  /** Lanes that got a new row. */
  readonly lanes: ReadonlySet<string>;
}

interface Draft {
  readonly rows: readonly PreparedMessage[];
  readonly origins: readonly RowOrigin[];
  readonly refusals: readonly Refusal[];
  /** By message: the recipients as given, so that each gets an answer. */
  readonly recipients: readonly (readonly string[])[];
}

/** Writes messages in the transaction behind `sql`. Everything that can be judged without the database is judged first. */
export async function enqueueMessages(
  sql: SqlExecutor,
  messages: readonly Message[],
  settings: EnqueueSettings,
  directory: DirectoryCache,
): Promise<Enqueued> {
  try {
    const draft = await draftRows(sql, messages, settings, directory);
    const strict = settings.onProblem === 'throw';
    if (strict && draft.refusals.length > 0) throw new MessageRefused(draft.refusals);
    if (draft.rows.length === 0) return { results: collect(draft, []), lanes: new Set() };
    const answers = strict
      ? await callLedger(sql, draft.rows, 'all', (all) => refuseAny(draft, all))
      : await callLedger(sql, draft.rows, 'each');
    const lanes = new Set<string>();
    for (const { answer, lane } of answers) if (answer === 'created' && lane !== undefined) lanes.add(lane);
    return { results: collect(draft, answers), lanes };
  } catch (error) {
    throw namedError(error);
  }
}

async function draftRows(
  sql: SqlExecutor,
  messages: readonly Message[],
  settings: EnqueueSettings,
  cache: DirectoryCache,
): Promise<Draft> {
  const known = await cache.load(sql, messages, settings.tenant);
  const context = {
    tenant: settings.tenant,
    now: new Date(),
    defaultRegion: (tenantId: string) => known.defaultRegion(tenantId) ?? settings.defaultRegion,
    template: known.template,
  };
  const rows: PreparedMessage[] = [];
  const origins: RowOrigin[] = [];
  const refusals: Refusal[] = [];
  const recipients = messages.map(givenRecipients);
  messages.forEach((message, index) => {
    const prepared = prepareMessage(message, context);
    rows.push(...prepared.rows);
    origins.push(...originsOf(prepared, index, recipients[index]?.length ?? 0));
    if (!prepared.ok) for (const problem of prepared.problems) refusals.push({ index, ...problem });
  });
  return { rows, origins, refusals, recipients };
}

/** Whatever was given as `to`, as texts; a message without any still gets one answer. */
function givenRecipients(message: unknown): string[] {
  const to: unknown = typeof message === 'object' && message !== null ? Reflect.get(message, 'to') : undefined;
  const list: readonly unknown[] = Array.isArray(to) && to.length > 0 ? to : [to];
  return list.map((one) => (typeof one === 'string' ? one : ''));
}

function refuseAny(draft: Draft, answers: LedgerAnswer[]): LedgerAnswer[] {
  const refusals = draft.origins.flatMap((origin, position) => {
    const answer = answers[position];
    return (answer === undefined ? undefined : refusalOf(origin, answer)) ?? [];
  });
  if (refusals.length > 0) throw new MessageRefused(refusals);
  return answers;
}

function collect(draft: Draft, answers: readonly LedgerAnswer[]): EnqueueResult[] {
  const written = new Map<string, EnqueueResult>();
  draft.origins.forEach((origin, position) => {
    const answer = answers[position];
    const row = draft.rows[position];
    if (answer === undefined || row === undefined) return;
    written.set(`${origin.index}.${origin.to}`, writtenResult(origin, row.recipient, answer));
  });
  const refusalsOf = Map.groupBy(draft.refusals, (refusal) => refusal.index);
  return draft.recipients.flatMap((list, index) =>
    list.map(
      (recipient, to) =>
        written.get(`${index}.${to}`) ?? refusedResult(index, to, recipient, refusalsOf.get(index) ?? []),
    ),
  );
}
