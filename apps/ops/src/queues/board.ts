import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance } from 'fastify';
import { html } from '../html.ts';
import { page } from '../page.ts';
import { isReading } from '../server.ts';
import type { WakeQueueViews } from './wake-queues.ts';

const BOARD_PATH = '/queues';

/** What a person must know before they read anything into a queue that is empty. */
const SENTENCE = 'These queues carry wake-ups, not messages: an empty one says nothing about what waits to be sent.';

/**
 * As of all pages, but for styles in the page itself, which the board is made of, and its base address. Its head asks a third
 * party for fonts; that link is taken out, and this would stop it.
 */
const BOARD_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
].join('; ');

const FOREIGN_LINK = /<link\b[^>]*\bhref="(?:https?:)?\/\/[^>]*>/g;
/** At the lower edge: the board keeps its own head and side in place, above whatever comes before it. */
const BAR = `<p style="position:fixed;inset:auto 0 0 0;z-index:10000;margin:0;padding:.55rem 1rem;font:14px/1.4 system-ui,sans-serif;background:#1f5f9f;color:#fff">${html`${SENTENCE}`}
<a href="/" style="color:#fff">What waits is on the overview</a>.</p>`;

/** Bull Board for reading. Whatever else it can do is refused here, and not only hidden by it. */
export async function serveBoard(server: FastifyInstance, views: WakeQueueViews | null): Promise<void> {
  await server.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.header('content-security-policy', BOARD_POLICY);
      if (!isReading(request))
        return reply
          .code(405)
          .header('allow', 'GET, HEAD')
          .type('text/plain; charset=utf-8')
          .send('Queues are only looked at here.\n');
      if (views?.up) return;
      const asked = request.url.startsWith(`${BOARD_PATH}/api/`);
      return asked
        ? reply.code(503).send({ error: 'Redis does not answer' })
        : reply
            .code(503)
            .type('text/html; charset=utf-8')
            .send(withoutRedis(views === null));
    });
    scope.addHook<unknown>('onSend', async (request, reply, payload) => {
      // Its files would be `public`, also where they need credentials.
      if (request.url.startsWith(`${BOARD_PATH}/static/`)) reply.header('cache-control', 'private, max-age=3600');
      return typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html')
        ? payload.replace(FOREIGN_LINK, '').replace(/(<body[^>]*>)/, `$1${BAR}`)
        : payload;
    });
    if (views === null) {
      scope.all(BOARD_PATH, async () => undefined);
      scope.all(`${BOARD_PATH}/*`, async () => undefined);
      return;
    }
    const adapter = new FastifyAdapter();
    adapter.setBasePath(BOARD_PATH);
    createBullBoard({
      queues: views.queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
      serverAdapter: adapter,
      options: {
        uiConfig: {
          boardTitle: 'Wake-ups',
          miscLinks: [{ text: 'Overview', url: '/' }],
          hideRedisDetails: true,
        },
      },
    });
    await scope.register(adapter.registerPlugin(), { prefix: BOARD_PATH });
  });
}

function withoutRedis(unset: boolean): string {
  return page(
    'Queues',
    BOARD_PATH,
    html`<p class="notice">${
      unset
        ? 'No Redis is configured (REDIS_URL): the fleet finds its work by polling, and there are no wake-ups to show.'
        : 'Redis does not answer: the fleet finds its work by polling, slower and without losing anything.'
    }</p>`,
  );
}
