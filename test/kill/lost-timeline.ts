import type { Fleet } from './fleet.ts';
import { rows } from './ledger.ts';
import type { CellMessages } from './messages.ts';

/** What the provider accepted of a cell's messages while the database lived on that is lost since. */
export interface LostTimeline {
  readonly txnIds: ReadonlySet<string>;
  /** Messages of these requests. */
  readonly messages: number;
  /** In the provider's currency, four decimals. */
  readonly charge: string;
  copies(recipient: string, body: string): number;
}

export const NOTHING_LOST: LostTimeline = { txnIds: new Set(), messages: 0, charge: '0', copies: () => 0 };

/** Read at the moment of the loss, from the provider's own books. */
export async function whatIsLost(fleet: Fleet, messages: CellMessages): Promise<LostTimeline> {
  const sent = await rows<{ recipient: string; body: string }>(
    fleet.pool,
    'select distinct m.recipient, m.body from sendledger.outbound_message m where m.recipient like $1',
    [messages.numbersLike],
  );
  const key = (recipient: string, body: string) => `${recipient} ${body}`;
  const copies = new Map(
    sent.map(({ recipient, body }) => [key(recipient, body), fleet.sim.log.copies(recipient, body)]),
  );
  const accepted = [...new Set(sent.map((row) => row.recipient))].flatMap((mobile) =>
    fleet.sim.log.accepted({ mobile }),
  );
  return {
    txnIds: new Set(accepted.map((message) => message.transactionId)),
    messages: accepted.length,
    charge: accepted.reduce((sum, message) => sum + Number(message.charge), 0).toFixed(4),
    copies: (recipient, body) => copies.get(key(recipient, body)) ?? 0,
  };
}
