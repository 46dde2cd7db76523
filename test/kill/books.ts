import type { ProviderState } from './cells.ts';
import type { Fleet } from './fleet.ts';
import { rows } from './ledger.ts';
import { type LostTimeline, NOTHING_LOST } from './lost-timeline.ts';
import { type CellMessages, UNDELIVERABLE } from './messages.ts';
import type { Stage } from './stage.ts';

/** A row of a cell, as far as the books are about it. */
interface BookRow {
  readonly id: string;
  readonly recipient: string;
  readonly body: string;
  readonly messageClass: string;
  readonly state: string;
  readonly reason: string | null;
  /** In ten-thousandths, so that sums are exact. */
  readonly cost: string | null;
  readonly quoted: string | null;
  readonly stopsWhenAbsent: boolean;
  readonly businessKey: string;
  readonly isCurrent: boolean;
  readonly correlation: string | null;
  readonly providerTxnId: string | null;
  /** The resolver found its request in a report, by this row or by another of it. */
  readonly isFound: boolean;
  /** Its end is not the end of its message: the fallback is not taken yet. */
  readonly hasWayLeft: boolean;
}

export interface Reading {
  readonly rows: readonly BookRow[];
  /** Nothing of the cell moves any more; what is unknown has been judged and stays so. */
  readonly settled: boolean;
  readonly unknown: number;
  /** For people: `delivered 6, rejected 1`. */
  readonly states: string;
}

const MOVING = new Set(['pending', 'claimed', 'retry', 'submitted']);
/** Refused for good by a reply that came after its lease. */
const REFUSED_LATE = /^late_(refused|attempts_exhausted)$/;
/** Ends that no provider and no clock of a cell can be the reason of. */
const NEVER = new Set(['expired', 'cancelled', 'superseded']);

export async function readBooks(fleet: Fleet, messages: CellMessages): Promise<Reading> {
  const found = await rows<BookRow>(
    fleet.pool,
    `select m.id, m.recipient, m.body, m.message_class::text as "messageClass", m.state::text as state, m.state_reason as reason,
       (m.cost * 10000)::bigint::text as cost, (m.quoted_cost * 10000)::bigint::text as quoted,
       m.on_proven_absent = 'stop' as "stopsWhenAbsent", m.business_key as "businessKey",
       exists (select from sendledger.message_key k where k.tenant_id = m.tenant_id and k.business_key = m.business_key
         and k.message_id = m.id and k.message_created_at = m.created_at) as "isCurrent",
       m.correlation_result::text as correlation, m.provider_txn_id as "providerTxnId",
       exists (select from sendledger.outbound_message o where o.submission_id = m.submission_id and o.correlation_result = 'matched') as "isFound",
       m.fallback_step is not null and m.state in ('rejected', 'failed') as "hasWayLeft"
     from sendledger.outbound_message m where m.recipient like $1 order by m.id`,
    [messages.numbersLike],
  );
  const unknown = found.filter((row) => row.state === 'unknown');
  const counts = Map.groupBy(found, (row) => row.state);
  return {
    rows: found,
    settled:
      found.every((row) => !MOVING.has(row.state)) &&
      unknown.every((row) => row.correlation === 'ambiguous') &&
      !found.some((row) => row.hasWayLeft),
    unknown: unknown.length,
    states: [...counts].map(([state, of]) => `${state} ${of.length}`).join(', '),
  };
}

/** Everything that is wrong with the books of a cell; nothing is what a green one has. */
export async function faultsIn(
  { fleet, messages, enqueued, cell }: Pick<Stage, 'fleet' | 'messages' | 'enqueued' | 'cell'>,
  reading: Reading,
  lost: LostTimeline = NOTHING_LOST,
): Promise<string[]> {
  const faults: string[] = [];
  if (!reading.settled) faults.push(`not settled: ${reading.states}`);
  faults.push(...faultsOfKeys(reading.rows, enqueued, cell.provider, messages.endings));
  faults.push(...faultsOfMoney(fleet, reading.rows, lost));
  faults.push(...faultsOfEvidence(reading.rows, lost));
  const { duplicates } = fleet.sim.log.counts();
  const more = duplicates - fleet.knownDuplicates;
  if (more > lost.messages) faults.push(`${more - lost.messages} second copies at the provider`);
  fleet.knownDuplicates = duplicates;
  const held = await rows<{ state: string; n: number }>(
    fleet.pool,
    `select s.state::text as state, count(*)::integer as n from sendledger.submission s where s.state in ('open', 'marked') group by 1`,
  );
  for (const { state, n } of held) faults.push(`${n} submissions left ${state}`);
  return faults;
}

/** Each message has one row that stands for it, and that row has an end that somebody can answer for. */
function faultsOfKeys(
  all: readonly BookRow[],
  enqueued: number,
  provider: ProviderState,
  endings: ReadonlyMap<string, string>,
): string[] {
  const faults: string[] = [];
  const byKey = Map.groupBy(all, (row) => row.businessKey);
  if (byKey.size !== enqueued) faults.push(`${enqueued} messages were enqueued, and ${byKey.size} are there`);
  for (const of of byKey.values()) {
    const current = of.filter((row) => row.isCurrent);
    const [row] = current;
    if (row === undefined || current.length > 1) {
      faults.push(`message ${of[0]?.id} has ${current.length} rows that stand for it`);
      continue;
    }
    const ending = endings.get(row.body);
    if (ending !== undefined) {
      if (row.state !== ending) faults.push(`message ${row.id} is ${row.state} and not ${ending}: ${row.reason}`);
      continue;
    }
    if (NEVER.has(row.state)) faults.push(`message ${row.id} is ${row.state}: ${row.reason}`);
    const reason = row.reason ?? '';
    const refused = row.state === 'rejected' || (row.state === 'failed' && REFUSED_LATE.test(reason));
    // Proven not sent, and sent again by nobody: lost, unless it may not be sent again.
    const absent = row.state === 'failed' && !refused && /^(proven_not_submitted|late_)/.test(reason);
    if (row.state === 'failed' && !refused && !absent && !UNDELIVERABLE.test(row.recipient))
      faults.push(`message ${row.id} failed, and nobody said so: ${row.reason}`);
    if (refused && provider !== 'refuses')
      faults.push(`message ${row.id} is ${row.state}, and nobody refused it: ${row.reason}`);
    if (absent && row.messageClass !== 'otp' && !row.stopsWhenAbsent)
      faults.push(`message ${row.id} is lost: ${row.reason}, and has no successor`);
  }
  return faults;
}

/**
 * The bill, text by text: what has a cost, and those of the unknown that the provider did accept. What was sent in a timeline that is
 * lost stands in no row, unless the resolver found it.
 */
function faultsOfMoney(fleet: Fleet, all: readonly BookRow[], lost: LostTimeline): string[] {
  const faults: string[] = [];
  let ours = 0n;
  for (const of of Map.groupBy(all, (row) => `${row.recipient} ${row.body}`).values()) {
    const [first] = of;
    if (first === undefined) continue;
    const copies = fleet.sim.log.copies(first.recipient, first.body);
    const gone = lost.copies(first.recipient, first.body);
    const billed = of.filter((row) => row.cost !== null);
    const unknown = of.filter((row) => row.state === 'unknown');
    ours += billed.reduce((sum, row) => sum + BigInt(row.cost ?? 0), 0n);
    const accepted = unknown.slice(0, Math.max(0, copies - gone - billed.length));
    ours += accepted.reduce((sum, row) => sum + BigInt(row.quoted ?? 0), 0n);
    const what = `message ${of.map((row) => `${row.id} (${row.state})`).join(', ')}`;
    if (copies > 1 + gone) faults.push(`${what}: ${copies} copies at the provider, ${gone} of them lost`);
    if (billed.length > copies) faults.push(`${what}: paid for by us and not accepted`);
    if (copies - gone > billed.length + unknown.length) faults.push(`${what}: accepted, and no row says so`);
  }
  const theirs = [...new Set(all.map((row) => row.recipient))]
    .flatMap((mobile) => fleet.sim.log.accepted({ mobile }))
    .reduce((sum, message) => sum + inTenThousandths(message.charge), 0n);
  if (ours > theirs || ours < theirs - inTenThousandths(lost.charge))
    faults.push(`our bill is ${ours}, the provider's ${theirs} (ten-thousandths), of which ${lost.charge} is lost`);
  return faults;
}

/** A reply of a lost timeline is evidence of nothing here: its row went another way since. What the resolver finds is. */
function faultsOfEvidence(all: readonly BookRow[], lost: LostTimeline): string[] {
  return all
    .filter((row) => row.providerTxnId !== null && lost.txnIds.has(row.providerTxnId) && !row.isFound)
    .map((row) => `message ${row.id} (${row.state}) carries the reply of a lost timeline: ${row.providerTxnId}`);
}

function inTenThousandths(amount: string): bigint {
  const [whole = '0', part = ''] = amount.split('.');
  return BigInt(whole) * 10_000n + BigInt(part.padEnd(4, '0'));
}
