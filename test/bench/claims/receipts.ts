import { applyReceipts, durably, type ReceiptRecord, recordReceipts } from '@sendledger/core/ledger';
import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';
import { buffersOf } from '../buffers.ts';
import type { BenchOptions } from '../options.ts';
import { type Bar, say, type Table } from '../report.ts';
import type { Services } from '../services.ts';
import { BenchLane } from './lane.ts';
import { type AwaitedRow, seedAwaited, seedHistory } from './seed.ts';

const BACKLOGS = [1_000, 40_000] as const;
const RECEIPTS = 500;
/** What the statistics know: months of messages, none of which waits for a receipt. */
const PAST = 20_000;

/**
 * What the number of messages that wait for receipts costs one receipt, with statistics from before the burst: a plan that reads the
 * whole backlog shows here.
 */
export async function receiptsBesideBacklog(
  _options: BenchOptions,
  services: Services,
  cleanup: Cleanup,
): Promise<{ tables: Table[]; bars: Bar[] }> {
  const measured: { backlog: number; buffers: number; us: number }[] = [];
  for (const backlog of BACKLOGS) {
    say(`receipts beside ${backlog} messages that wait for one`);
    const database = await services.database();
    const lane = await BenchLane.open(database, 'receipts', cleanup);
    await seedHistory(database.pool, lane, PAST);
    const awaited = await seedAwaited(database.pool, lane, backlog);
    // The connection's plans are made by the first, without the backlog's own pages being new to it.
    await receive(lane, awaited.slice(0, 20));
    const began = performance.now();
    const { buffers } = await buffersOf(lane.pool, () => receive(lane, awaited.slice(-RECEIPTS)));
    measured.push({ backlog, buffers: buffers / RECEIPTS, us: ((performance.now() - began) * 1_000) / RECEIPTS });
  }
  const [few, many] = measured;
  const ratio = (many?.buffers ?? Number.NaN) / (few?.buffers ?? Number.NaN);
  return {
    tables: [
      {
        title: `${RECEIPTS} receipts stored and applied, statistics from before the burst`,
        head: ['messages that wait for one', 'buffers a receipt', 'us a receipt', 'buffers / shortest'],
        rows: measured.map(({ backlog, buffers, us }) => [
          String(backlog),
          buffers,
          us,
          buffers / (few?.buffers ?? Number.NaN),
        ]),
      },
    ],
    bars: [
      {
        what: `receipts: buffers of one beside ${BACKLOGS[1]}, times those beside ${BACKLOGS[0]}`,
        measured: ratio,
        atMost: 1.3,
      },
    ],
  };
}

async function receive(lane: BenchLane, rows: readonly AwaitedRow[]): Promise<void> {
  const origin = { routeId: lane.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' } as const;
  const records = rows.map(receiptOf);
  const { hashes } = await durably(lane.pool, (sql) => recordReceipts(sql, origin, records));
  const { delivered } = await durably(lane.pool, (sql) => applyReceipts(sql, origin, hashes));
  if (delivered !== rows.length) throw new Error(`${delivered} of ${rows.length} receipts were applied`);
}

/** Half of them are known by their own id, half are met for the first time. */
function receiptOf(row: AwaitedRow): ReceiptRecord {
  return {
    providerTxnId: row.provider_txn_id,
    providerMessageId: row.provider_message_id ?? `8${row.provider_txn_id.slice(1).padStart(14, '0')}`,
    recipient: row.recipient,
    senderId: 'SHOPIN',
    statusWord: 'DELIVERED',
    status: 'delivered',
    cause: null,
    causeClass: 'none',
    submittedAt: null,
    deliveredAt: new Date(),
    evidence: { status: 'DELIVERED', mobileNo: row.recipient },
  };
}
