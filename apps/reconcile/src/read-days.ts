import type { KnownAccepted } from '@sendledger/core/ledger';
import type { Adapter, ProviderRecord } from '@sendledger/gateway';

/** What one read of the account's days shows about a few recipients, and about what is known to be in it. */
export interface DaysRead {
  /** All pages, of everybody: only such a read can say that something is absent. */
  readonly whole: boolean;
  /** Records of the recipients that were asked about, and those that name no readable number. */
  readonly records: readonly ProviderRecord[];
  /** Of what is known to be accepted, what the report shows; its key is {@link knownKey}. */
  readonly shown: ReadonlySet<string>;
}

const DAY_MS = 86_400_000;

export const knownKey = (known: { readonly providerTxnId: string; readonly recipient: string }) =>
  `${known.providerTxnId} ${known.recipient}`;

/** The provider's days around a span of time, one wider on both sides: a day ends at another instant in each zone. */
function daysAround(zone: string, fromMs: number, toMs: number): { readonly fromDay: string; readonly toDay: string } {
  // This locale writes a date as the provider reads one.
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  return { fromDay: day.format(fromMs - DAY_MS), toDay: day.format(toMs + DAY_MS) };
}

export interface DaysRequest {
  readonly zone: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly recipients: ReadonlySet<string>;
  /** Everybody's records, and not one question a recipient. */
  readonly whole: boolean;
  readonly known: readonly KnownAccepted[];
  /** Called with each page: a long read is not a stuck one. */
  readonly alive: () => void;
  readonly signal: AbortSignal;
}

/** Reads the days; null where some page could not be read. Only what is asked about is kept of what may be a million records. */
export async function readDays(
  adapter: Adapter,
  request: DaysRequest,
): Promise<DaysRead | { readonly unavailable: string }> {
  const { zone, recipients, whole } = request;
  const days = { ...daysAround(zone, request.fromMs, request.toMs), zone };
  const records: ProviderRecord[] = [];
  const wanted = new Set(request.known.map(knownKey));
  const byMessageId = new Map(
    request.known.flatMap((k) => (k.providerMessageId === null ? [] : [[k.providerMessageId, knownKey(k)]])),
  );
  const shown = new Set<string>();
  const onPage = (page: readonly ProviderRecord[]) => {
    request.alive();
    for (const record of page) {
      // A record of a masked or mangled number may be anybody's.
      if (record.recipient === null || recipients.has(record.recipient)) records.push(record);
      if (record.providerTxnId !== null && record.recipient !== null) {
        const key = knownKey({ providerTxnId: record.providerTxnId, recipient: record.recipient });
        if (wanted.has(key)) shown.add(key);
      }
      const known = record.providerMessageId === null ? undefined : byMessageId.get(record.providerMessageId);
      if (known !== undefined) shown.add(known);
    }
  };
  let complete = true;
  for (const recipient of whole ? [null] : recipients) {
    const answer = await adapter.reportByDays({ ...days, recipient }, onPage, request.signal);
    if (answer.kind === 'unavailable') return { unavailable: answer.detail };
    complete &&= answer.complete;
    // A filtered read that is not complete may hide the second of two records, and make an ambiguous row look matched.
    if (!answer.complete && !whole) return { unavailable: `the report is not complete: ${answer.incompleteBecause}` };
  }
  if (whole && !complete) return { unavailable: 'the report of these days is not complete' };
  return { whole, records, shown };
}
