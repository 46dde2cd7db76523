import type { MessageStory } from './message-story.ts';

type Row = Readonly<Record<string, unknown>>;

/** One thing that happened to a message. */
export interface Moment {
  /** By our clock. */
  readonly at: Date;
  /** `enqueued`, `claimed`, `quoted`, `marked`, `reply`, … */
  readonly what: string;
  /** In words, one line; ids and words of others stand in it as they came. */
  readonly said: string;
  /** What a provider wrote or a review found, as it is kept. Absent: nothing. */
  readonly evidence?: unknown;
}

/** The order of what has one and the same instant: steps of one transaction. */
const PROTOCOL = [
  'enqueued',
  'claimed',
  'quoted',
  'marked',
  'reply',
  'submitted',
  'receipt',
  'delivered',
  'failed',
  'rejected',
  'expired',
  'cancelled',
  'review',
  'resolved',
  'decided',
  'refund',
  'correction',
  'replaced',
];

/** What happened to one message, in the order it happened. */
export function storyMoments(story: MessageStory): Moment[] {
  const moments = [
    ...ofMessage(story.message),
    ...ofSubmission(story),
    ...ofReceipts(story.receipts),
    ...ofEnd(story.message),
    ...ofCancellations(story.cancellations),
    ...ofReviews(story.reviews),
    ...ofDecisions(story.decisions),
    ...ofAdjustments(story.adjustments),
    ...ofChain(story),
  ];
  return moments.toSorted(
    (a, b) => a.at.getTime() - b.at.getTime() || PROTOCOL.indexOf(a.what) - PROTOCOL.indexOf(b.what),
  );
}

function ofMessage(m: Row): Moment[] {
  return [
    moment(
      m.created_at,
      'enqueued',
      list([
        counted(Number(m.segments), 'segment'),
        text(m.encoding),
        named('not before', m.scheduled_for),
        named('in place of message', m.replaces_id),
      ]),
    ),
    moment(m.claimed_at, 'claimed', list([named('submission', m.submission_id)])),
    moment(
      m.claimed_at,
      'quoted',
      m.quoted_cost === null
        ? ''
        : `${text(m.quoted_cost)} ${text(m.quoted_currency)} for ${counted(Number(m.quoted_units), 'unit')}`,
    ),
    moment(m.submitted_at, 'submitted', list([named('receipt awaited until', m.receipt_by)])),
  ].flat();
}

/** By our clock, when it was decided here; the provider's own clock may be off, and stands beside it. */
function ofEnd(m: Row): Moment[] {
  if (m.state === 'delivered')
    return moment(m.reconciled_at ?? m.delivered_at, 'delivered', named("provider's clock", m.delivered_at));
  return m.state === 'failed' || m.state === 'expired'
    ? moment(m.reconciled_at, text(m.state), text(m.state_reason))
    : [];
}

function ofSubmission({ submission: s }: MessageStory): Moment[] {
  if (s === null) return [];
  return [
    moment(
      s.requested_at,
      'marked',
      list([named('by worker', s.marked_by), `with ${counted(Number(s.size), 'recipient')}`]),
    ),
    moment(
      s.responded_at,
      'reply',
      list([
        text(s.state),
        s.outcome_reason === s.state ? '' : text(s.outcome_reason),
        named('proof', s.outcome_proof),
        named('http', s.http_status),
        named('code', s.provider_status_code),
        named('transaction', s.provider_txn_id),
      ]),
      s.raw_reply,
    ),
  ].flat();
}

function ofReceipts(receipts: readonly Row[]): Moment[] {
  return receipts.flatMap((r) =>
    moment(
      r.received_at,
      'receipt',
      list([
        `${text(r.status_word)} (${text(r.status)}, by ${text(r.source)})`,
        text(r.cause),
        named("provider's clock", r.provider_delivered_at),
        r.applied_at === null ? 'not applied yet' : '',
        r.conflict === true ? 'contradicts the state' : '',
      ]),
      r.evidence,
    ),
  );
}

function ofCancellations(cancellations: readonly Row[]): Moment[] {
  return cancellations.flatMap((c) =>
    moment(c.created_at, 'cancelled', list([`${text(c.kind)} by ${text(c.requested_by)}`, text(c.reason)])),
  );
}

function ofReviews(reviews: readonly Row[]): Moment[] {
  return reviews.flatMap((v) => [
    ...moment(v.opened_at, 'review', list([text(v.kind), text(v.subject)]), v.evidence),
    ...moment(
      v.resolved_at,
      'resolved',
      list([text(v.kind), text(v.resolution), named('by', v.resolved_by), text(v.note)]),
    ),
  ]);
}

/** A refund has its own line, and so has the successor of a replay. */
function ofDecisions(decisions: readonly Row[]): Moment[] {
  return decisions
    .filter((d) => d.action !== 'refund' && d.action !== 'correction')
    .flatMap((d) =>
      moment(
        d.at,
        'decided',
        list([
          `${text(d.action)} by ${text(d.who)}`,
          named('answer', d.answer),
          named('successor', d.successor),
          text(d.why),
        ]),
      ),
    );
}

function ofAdjustments(adjustments: readonly Row[]): Moment[] {
  return adjustments.flatMap((a) =>
    moment(
      a.created_at,
      text(a.kind),
      list([`${text(a.amount)} ${text(a.currency)}`, text(a.reference), named('by', a.created_by)]),
    ),
  );
}

function ofChain({ chain }: MessageStory): Moment[] {
  return chain
    .filter((link) => link.step === 1)
    .flatMap((link) => moment(link.createdAt, 'replaced', `by message ${link.id} on ${link.channel}`));
}

function moment(at: unknown, what: string, said: string, evidence?: unknown): Moment[] {
  if (!(at instanceof Date)) return [];
  return [evidence === undefined || evidence === null ? { at, what, said } : { at, what, said, evidence }];
}

function counted(value: number, noun: string): string {
  return `${value.toLocaleString('en-US')} ${noun}${value === 1 ? '' : 's'}`;
}

function named(label: string, value: unknown): string {
  return value === null || value === undefined ? '' : `${label} ${text(value)}`;
}

function list(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ');
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '';
  return value instanceof Date ? value.toISOString() : String(value);
}
