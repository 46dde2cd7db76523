import type { MessageStory } from '@sendledger/core/ledger';
import { table } from './table.ts';
import { counted } from './words.ts';

type Row = Readonly<Record<string, unknown>>;

interface Moment {
  readonly at: Date;
  readonly what: string;
  readonly said: string;
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
  'expired',
  'review',
  'resolved',
  'decided',
  'refund',
  'correction',
];

/** What happened to one message, in the order it happened. */
export function storyLines(story: MessageStory): string[] {
  const { message } = story;
  const moments = [
    ...ofMessage(message),
    ...ofSubmission(story),
    ...ofReceipts(story.receipts),
    ...ofEnd(message),
    ...ofReviews(story.reviews),
    ...ofDecisions(story.decisions),
    ...ofAdjustments(story.adjustments),
  ];
  moments.sort((a, b) => a.at.getTime() - b.at.getTime() || PROTOCOL.indexOf(a.what) - PROTOCOL.indexOf(b.what));
  return [
    facts('Message', message.id, [
      ['to', message.recipient],
      ['tenant', message.tenant_id],
      ['class', message.message_class],
      ['channel', message.channel],
      ['route', message.route],
      ['sender', message.sender_id],
    ]),
    facts('Event', message.event_type, [
      ['id', message.event_id],
      ['template', message.template_id],
      ['version', message.template_version],
    ]),
    facts('State', message.state, [
      ['reason', message.state_reason],
      ['cause', message.provider_cause],
      ['conflict', message.conflict === true ? 'yes' : null],
      ['replaces', message.replaces_id],
      ['replaced by', message.replaced_by],
    ]),
    facts('Cost', message.cost === null ? 'none' : `${text(message.cost)} ${text(message.cost_currency)}`, [
      ['units', message.billable_units],
      ['source', message.cost_source],
      ['adjusted by', story.adjustments.length === 0 ? null : story.adjustments.map((a) => text(a.amount)).join(' ')],
    ]),
    facts('Keys', `attempt ${text(message.attempt_key)}`, [
      ['business', message.business_key],
      ['provider transaction', message.provider_txn_id],
      ['provider message', message.provider_message_id],
    ]),
    '',
    ...moments.map(({ at, what, said }) => `${at.toISOString()}  ${what.padEnd(10)}  ${said}`.trimEnd()),
    ...waiting(message),
    ...story.reviews
      .filter((review) => review.resolved_at === null)
      .flatMap((review) => ['', `A person has to decide: sendledger review show ${text(review.id)}`]),
  ];
}

/** Several messages, each on a line. */
export function matchLines(stories: readonly MessageStory[]): string[] {
  return [
    table(
      ['ID', 'CREATED', 'STATE', 'CLASS', 'TO', 'TENANT', 'EVENT'],
      stories.map(({ message }) => [
        text(message.id),
        text(message.created_at),
        text(message.state),
        text(message.message_class),
        text(message.recipient),
        text(message.tenant_id),
        `${text(message.event_type)} ${text(message.event_id)}`,
      ]),
    ),
    '',
    `${counted(stories.length, 'message')}; "sendledger show ID" tells the story of one.`,
  ];
}

function ofMessage(m: Row): Moment[] {
  return [
    moment(
      m.created_at,
      'enqueued',
      list([counted(Number(m.segments), 'segment'), text(m.encoding), named('not before', m.scheduled_for)]),
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
    ),
  );
}

function ofReviews(reviews: readonly Row[]): Moment[] {
  return reviews.flatMap((v) => [
    ...moment(v.opened_at, 'review', list([text(v.kind), text(v.subject)])),
    ...moment(v.resolved_at, 'resolved', list([text(v.kind), text(v.resolution)])),
  ]);
}

/** A refund has its own line. */
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

/** What the message waits for, where it is not final. */
function waiting(m: Row): string[] {
  if (m.state === 'pending' || m.state === 'retry')
    return ['', `Due ${text(m.due_at)}; worthless after ${text(m.submit_by)}; tries so far: ${text(m.attempt_count)}.`];
  if (m.state === 'unknown')
    return ['', 'Nobody knows yet whether it was sent; only evidence, or a person who decides its review, moves it.'];
  return [];
}

function moment(at: unknown, what: string, said: string): Moment[] {
  return at instanceof Date ? [{ at, what, said }] : [];
}

function facts(name: string, value: unknown, more: readonly (readonly [string, unknown])[]): string {
  return `${name.padEnd(8)}${list([text(value), ...more.map(([label, one]) => named(label, one))])}`;
}

function named(label: string, value: unknown): string {
  return value === null || value === undefined ? '' : `${label} ${text(value)}`;
}

function list(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ');
}

/** Ids and words of others go to a terminal: what could steer it is made visible. */
function text(value: unknown): string {
  if (value === null || value === undefined) return '';
  const plain = value instanceof Date ? value.toISOString() : String(value);
  return plain.replace(/\p{Cc}/gu, '?');
}
