import fc from 'fast-check';
import type { ReceiptStatus } from '../../src/domain/receipt.ts';
import type { Resolution } from '../../src/ledger/index.ts';

/**
 * What happens to one request. Whether the provider took it is a fact, and everything the provider says agrees with it; only a
 * person may be wrong.
 */
export interface Scenario {
  readonly accepted: boolean;
  readonly recipients: 1 | 2;
  readonly reply: 'accepted' | 'refused' | 'refused_for_now' | 'not_sent' | 'ambiguous' | 'ambiguous_named' | 'none';
  /** The same reply is written twice. */
  readonly replyTwice: boolean;
  /** Its lease runs out, so that the sweep and the reply race. */
  readonly leaseEnds: boolean;
  /** Its validity window is over at once, so that the deadline job and the receipts race. */
  readonly windowOver: boolean;
  /** Of each recipient, in any order and as often as they stand here. */
  readonly words: readonly (readonly Exclude<ReceiptStatus, 'unmapped'>[])[];
  /** Receipts whose row is known without the transaction, as the resolver's matches are. */
  readonly pinned: boolean;
  readonly decision: Resolution | 'not_sent_and_replay' | null;
  /** One decision about all recipients. */
  readonly together: boolean;
  /** The report proves that it is not there; only of what the provider did not take. */
  readonly proof: boolean;
  /** A person asks for a replay at some time. */
  readonly replay: boolean;
}

const words = fc.array(fc.constantFrom('open', 'delivered', 'failed'), { maxLength: 4 });

export const scenario: fc.Arbitrary<Scenario> = fc
  .record({
    accepted: fc.boolean(),
    recipients: fc.constantFrom(1, 1, 2),
    replyIfAccepted: fc.constantFrom('accepted', 'accepted', 'ambiguous', 'ambiguous_named', 'none'),
    replyIfNot: fc.constantFrom('refused', 'refused_for_now', 'not_sent', 'ambiguous', 'none'),
    replyTwice: fc.boolean(),
    leaseEnds: fc.boolean(),
    windowOver: fc.boolean(),
    words: fc.tuple(words, words),
    pinned: fc.boolean(),
    decision: fc.constantFrom(null, null, 'sent', 'not_sent', 'not_sent', 'not_sent_and_replay', 'leave'),
    together: fc.boolean(),
    proof: fc.boolean(),
    replay: fc.boolean(),
  })
  .map(({ replyIfAccepted, replyIfNot, ...s }) =>
    consistent({ ...s, reply: s.accepted ? replyIfAccepted : replyIfNot }),
  );

/** What does not go together is put right. */
function consistent(s: Scenario): Scenario {
  const namesNoTransaction = s.reply === 'none' || s.reply === 'ambiguous';
  return {
    ...s,
    // Somebody must end a request that nobody answers.
    leaseEnds: s.leaseEnds || s.reply === 'none',
    words: s.accepted ? s.words.slice(0, s.recipients) : [],
    pinned: s.pinned || namesNoTransaction,
    proof: s.proof && !s.accepted,
  };
}

const QUIET: Scenario = {
  accepted: true,
  recipients: 1,
  reply: 'accepted',
  replyTwice: false,
  leaseEnds: false,
  windowOver: false,
  words: [[]],
  pinned: false,
  decision: null,
  together: false,
  proof: false,
  replay: false,
};

/** Those that a generator finds seldom, and that cost money. */
export const BY_HAND: Readonly<Record<string, Scenario>> = {
  'a late reply, a receipt of each kind twice and the sweep': {
    ...QUIET,
    leaseEnds: true,
    replyTwice: true,
    words: [['open', 'delivered', 'delivered', 'open']],
  },
  'finals that disagree while the deadline passes': {
    ...QUIET,
    windowOver: true,
    words: [['delivered', 'failed']],
  },
  'a person says not sent and replays it, and it was sent': {
    ...QUIET,
    leaseEnds: true,
    decision: 'not_sent_and_replay',
    replay: true,
    words: [['delivered']],
  },
  'a person says not sent of two, and the reply comes late': {
    ...QUIET,
    recipients: 2,
    leaseEnds: true,
    decision: 'not_sent',
    words: [[], []],
  },
  'one of two is proven by its receipt before the reply says that both were taken': {
    ...QUIET,
    recipients: 2,
    leaseEnds: true,
    pinned: true,
    words: [['open'], []],
  },
  'proven absent while its own late word says so too': {
    ...QUIET,
    accepted: false,
    reply: 'not_sent',
    leaseEnds: true,
    words: [],
    proof: true,
    replay: true,
  },
  'a person says sent, and it was not': {
    ...QUIET,
    accepted: false,
    reply: 'refused',
    leaseEnds: true,
    words: [],
    decision: 'sent',
  },
};
