import { type Html, html } from './html.ts';

/** Rooms of the house, as the head of each page lists them. */
const ROOMS = [
  { name: 'Overview', path: '/' },
  { name: 'Messages', path: '/messages' },
  { name: 'Queues', path: '/queues' },
] as const;

/**
 * A whole page.
 *
 * @param room path of the room it belongs to; null: none.
 * @param head further elements of the head.
 */
export function page(title: string, room: string | null, content: Html, head: Html = html``): string {
  const markup = html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Sendledger</title>
<link rel="stylesheet" href="/static/ops.css">
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
${head}
</head>
<body>
<header>
<a class="name" href="/">Sendledger</a>
<nav>${ROOMS.map(
    ({ name, path }) => html`<a href="${path}"${path === room ? html` aria-current="page"` : ''}>${name}</a>`,
  )}</nav>
</header>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return `<!doctype html>\n${markup}`;
}
