import { type MessageStory, storyMoments } from '@sendledger/core/ledger';
import { table } from './table.ts';
import { counted } from './words.ts';

type Row = Readonly<Record<string, unknown>>;

/** What happened to one message, in the order it happened. */
export function storyLines(story: MessageStory): string[] {
  const { message } = story;
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
    ...storyMoments(story).map(({ at, what, said }) =>
      `${at.toISOString()}  ${what.padEnd(10)}  ${text(said)}`.trimEnd(),
    ),
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

/** What the message waits for, where it is not final. */
function waiting(m: Row): string[] {
  if (m.state === 'pending' || m.state === 'retry')
    return ['', `Due ${text(m.due_at)}; worthless after ${text(m.submit_by)}; tries so far: ${text(m.attempt_count)}.`];
  if (m.state === 'unknown')
    return ['', 'Nobody knows yet whether it was sent; only evidence, or a person who decides its review, moves it.'];
  return [];
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
