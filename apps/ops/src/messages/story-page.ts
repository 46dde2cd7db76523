import { type MessageStory, type Moment, storyMoments } from '@sendledger/core/ledger';
import { type Html, html, type Part } from '../html.ts';
import { page } from '../page.ts';
import { table } from '../table.ts';
import { count, instant } from '../words.ts';
import { searchForm } from './search-page.ts';

export interface StoryView {
  /** Already without numbers, unless they were asked for. */
  readonly story: MessageStory;
  readonly revealed: boolean;
  /** Null: it was not asked for, or is a one-time password. */
  readonly text: string | null;
}

/** One message: what it is, and what happened to it, in order. */
export function storyPage({ story, revealed, text }: StoryView): string {
  const { message: m } = story;
  return page(
    `Message ${word(m.id)}`,
    '/messages',
    html`${story.reviews
      .filter((review) => review.resolved_at === null)
      .map(
        (review) =>
          html`<p class="notice">A person has to decide: ${word(review.kind)}. <code>sendledger review show ${word(review.id)}</code></p>`,
      )}
${waiting(story)}
<dl class="facts">
${fact('State', m.state)}${fact('Reason', m.state_reason)}${fact('To', m.recipient)}${fact('Class', `${word(m.message_class)} · ${word(m.channel)}`)}
${fact('Route', m.route)}${fact('Sender', m.sender_id)}${fact('Tenant', m.tenant_id)}${fact('Event', `${word(m.event_type)} ${word(m.event_id)}`)}
${fact('Campaign', m.campaign_id)}${fact('Template', m.template_id === null ? null : `${word(m.template_id)} ${word(m.template_version)}`)}
${fact('Cost', costOf(story))}${fact('Tries', m.attempt_count)}${fact('Cause', m.provider_cause)}${m.conflict === true ? fact('Conflict', 'evidence contradicts the state') : ''}
${fact('Attempt key', m.attempt_key)}${fact('Business key', m.business_key)}${fact('Provider transaction', m.provider_txn_id)}${fact('Provider message', m.provider_message_id)}
</dl>
<h2>What was sent</h2>
${textOf(story, text, revealed)}
<h2>What happened</h2>
<ol class="story">
${storyMoments(story).map(momentItem)}
</ol>
${chainOf(story)}
<p>${
      revealed
        ? html`<a href="/messages/${word(m.id)}">Mask the numbers again</a>`
        : html`<a href="/messages/${word(m.id)}?reveal=1">Show numbers, text and evidence as they are</a> <span class="soft">(kept in the log)</span>`
    }</p>
${searchForm()}`,
  );
}

function momentItem({ at, what, said, evidence }: Moment): Html {
  return html`<li><time datetime="${at.toISOString()}">${instant(at)}</time><b>${what}</b>${said}${
    evidence === undefined || isEmpty(evidence)
      ? ''
      : html`<details><summary>${what === 'reply' ? 'as the provider wrote it' : what === 'receipt' ? 'the evidence' : 'what was found'}</summary><pre>${written(evidence)}</pre></details>`
  }</li>
`;
}

const isEmpty = (evidence: unknown) =>
  evidence === '' || (typeof evidence === 'object' && evidence !== null && Object.keys(evidence).length === 0);

const written = (evidence: unknown) => (typeof evidence === 'string' ? evidence : JSON.stringify(evidence, null, 2));

function textOf({ message: m }: MessageStory, text: string | null, revealed: boolean): Html {
  const size = html`${count(Number(m.segments))} ${Number(m.segments) === 1 ? 'segment' : 'segments'} of ${word(m.encoding)}`;
  if (m.message_class === 'otp')
    return html`<p class="note">${size}. The text of a one-time password is shown to nobody.</p>`;
  if (!revealed || text === null) return html`<p class="note">${size}. The text is hidden.</p>`;
  return html`<pre>${text}</pre><p class="note">${size}.</p>`;
}

function chainOf({ chain }: MessageStory): Html {
  if (chain.length < 2) return html``;
  return html`<h2>Before and after it</h2>
<p class="note">A message that ends may be followed by another one: sent again, or another way.</p>
${table(
  [{ title: 'Message' }, { title: 'Enqueued' }, { title: 'State' }, { title: 'Channel' }],
  chain.map((link) => [
    { shows: link.step === 0 ? html`${link.id} (this one)` : html`<a href="/messages/${link.id}">${link.id}</a>` },
    { shows: instant(link.createdAt) },
    { shows: link.reason === null ? link.state : `${link.state}, ${link.reason}` },
    { shows: link.channel },
  ]),
)}`;
}

function waiting({ message: m }: MessageStory): Html {
  if (m.state === 'pending' || m.state === 'retry')
    return html`<p class="note">Due ${word(m.due_at)}; worthless after ${word(m.submit_by)}.</p>`;
  if (m.state === 'unknown')
    return html`<p class="notice">Nobody knows yet whether it was sent. Only evidence, or a person who decides its review, moves it.</p>`;
  return html``;
}

function costOf({ message: m, adjustments }: MessageStory): string {
  if (m.cost === null) return 'none';
  const adjusted = adjustments.map((a) => `, adjusted by ${word(a.amount)}`).join('');
  return `${word(m.cost)} ${word(m.cost_currency)} for ${word(m.billable_units)}, by ${word(m.cost_source)}${adjusted}`;
}

function fact(name: string, value: unknown): Part {
  const shown = word(value);
  return shown === '' ? '' : html`<div><dt>${name}</dt><dd>${shown}</dd></div>`;
}

function word(value: unknown): string {
  if (value === null || value === undefined) return '';
  return value instanceof Date ? instant(value) : String(value);
}
