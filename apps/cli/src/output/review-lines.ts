import type { ReviewItem } from '@sendledger/core/ledger';
import { table } from './table.ts';

/** One review item for a person who decides it. */
export function reviewLines(item: ReviewItem): string[] {
  const open = item.resolvedAt === null;
  return [
    `Review ${item.id}, ${item.kind}: ${plain(item.subject)}`,
    `Opened ${item.openedAt.toISOString()}${item.route === null ? '' : `, route ${item.route}`}${
      item.submissionId === null ? '' : `, submission ${item.submissionId}`
    }`,
    ...(open
      ? []
      : [
          `Resolved ${item.resolvedAt?.toISOString() ?? ''} as ${item.resolution ?? ''} by ${item.resolvedBy ?? ''}: ${plain(item.note ?? '')}`,
        ]),
    '',
    ...Object.entries(item.evidence)
      .filter(([name]) => name !== 'messages')
      .map(([name, value]) => `${name}: ${plain(typeof value === 'string' ? value : JSON.stringify(value))}`),
    ...(item.messages.length === 0
      ? []
      : [
          '',
          table(
            ['MESSAGE', 'STATE', 'REASON', 'CLASS', 'TO', 'SENDER', 'REQUESTED', 'COST'],
            item.messages.map((m) => [
              m.id,
              m.state,
              m.reason ?? '',
              m.messageClass,
              m.recipient,
              m.senderId ?? '',
              m.requestedAt?.toISOString() ?? '',
              m.cost === null ? '' : `${m.cost} ${m.currency ?? ''}`,
            ]),
          ),
        ]),
    ...(open
      ? [
          '',
          item.messages.some((m) => m.state === 'unknown')
            ? `Decide: sendledger review resolve ${item.id} --as sent|not-sent|leave --by NAME --why TEXT`
            : `Decide: sendledger review resolve ${item.id} --as leave --by NAME --why TEXT`,
        ]
      : []),
  ];
}

/** Words of others go to a terminal: what could steer it is made visible. */
function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
