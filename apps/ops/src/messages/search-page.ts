import { isFinal, type MessageState } from '@sendledger/core';
import { type MessageListed, MOST_FOUND, maskKnown, maskNumber } from '@sendledger/core/ledger';
import { type Html, html } from '../html.ts';
import { page } from '../page.ts';
import { table } from '../table.ts';
import { instant } from '../words.ts';

/** The one box. What was looked for is not put back into it: it may be somebody's number. */
export function searchForm(): Html {
  return html`<form class="search" action="/messages" method="get" role="search">
<input type="search" name="q" aria-label="Find a message" placeholder="recipient, key, event, provider id, attempt, our id" autocomplete="off" required maxlength="300">
<button>Find</button>
</form>
<p class="note">By recipient (international, or as dialled at home), business key, event id, the provider's transaction or message id, attempt key, or our id. Ids are compared as text.</p>`;
}

/** Before anything was looked for. */
export function emptySearchPage(): string {
  return page('Messages', '/messages', searchForm());
}

export function foundPage(found: readonly MessageListed[]): string {
  if (found.length === 0)
    return page(
      'Messages',
      '/messages',
      html`${searchForm()}
<p class="notice">No message is known by that. Attempt keys from before they bore an id, and what was imported, are found with <code>sendledger show</code>.</p>`,
    );
  return page(
    'Messages',
    '/messages',
    html`${searchForm()}
<h2>${found.length === MOST_FOUND ? `The newest ${MOST_FOUND}` : found.length} found</h2>
${table(
  [
    { title: 'Message' },
    { title: 'State' },
    { title: 'Enqueued' },
    { title: 'To' },
    { title: 'Class' },
    { title: 'Tenant' },
    { title: 'Event' },
  ],
  found.map((message) => [
    { shows: html`<a href="/messages/${message.id}">${message.id}</a>` },
    { shows: message.state, alarm: !isFinal(message.state as MessageState) && message.state === 'unknown' },
    { shows: instant(message.createdAt) },
    { shows: maskNumber(message.recipient) },
    { shows: `${message.messageClass} · ${message.channel}` },
    { shows: maskKnown(message.tenant, [message.recipient]) },
    { shows: maskKnown(`${message.eventType} ${message.eventId}`, [message.recipient]) },
  ]),
)}`,
  );
}
