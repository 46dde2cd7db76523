import {
  findMessages,
  hideNumbers,
  listMessages,
  messageRef,
  messageStory,
  messageText,
  type Sql,
} from '@sendledger/core/ledger';
import type { FastifyInstance } from 'fastify';
import { html } from '../html.ts';
import { page } from '../page.ts';
import { emptySearchPage, foundPage } from './search-page.ts';
import { storyPage } from './story-page.ts';

const HTML = 'text/html; charset=utf-8';

/** Finding a message, and reading what became of it. */
export function serveMessages(server: FastifyInstance, sql: Sql): void {
  server.get<{ Querystring: { q?: string | string[] } }>('/messages', async (request, reply) => {
    const { q } = request.query;
    const wanted = typeof q === 'string' ? q.trim() : '';
    if (wanted === '') return reply.type(HTML).send(emptySearchPage());
    // Never by reading the months: a page that takes minutes is no page.
    const found = await findMessages(sql, wanted, { reading: false });
    const [first, ...more] = found;
    if (first !== undefined && more.length === 0) return reply.redirect(`/messages/${first.id}`, 303);
    return reply.type(HTML).send(foundPage(await listMessages(sql, found)));
  });

  server.get<{ Params: { id: string }; Querystring: { reveal?: string | string[] } }>(
    '/messages/:id',
    async (request, reply) => {
      const { id } = request.params;
      const ref = /^\d{1,18}$/.test(id) ? await messageRef(sql, id) : null;
      const story = ref === null ? null : await messageStory(sql, ref);
      if (ref === null || story === null)
        return reply
          .code(404)
          .type(HTML)
          .send(
            page(
              'No such message',
              '/messages',
              html`<p>There is no message of that id. <a href="/messages">Find one</a>.</p>`,
            ),
          );
      if (request.query.reveal !== '1')
        return reply.type(HTML).send(storyPage({ story: hideNumbers(story, 'masked'), revealed: false, text: null }));
      // Who looked at what stays in the log; the ledger is not written by reading it.
      request.log.info({ message: ref.id, operator: request.operator }, 'numbers_revealed');
      return reply.type(HTML).send(storyPage({ story, revealed: true, text: await messageText(sql, ref) }));
    },
  );
}
