import { type Html, html, type Part } from './html.ts';

export interface Column {
  readonly title: string;
  /** Figures stand to the right. */
  readonly figure?: boolean;
}

/** A cell: what it shows, and whether it asks for attention. */
export interface Cell {
  readonly shows: Part;
  readonly alarm?: boolean;
}

/**
 * A table; on a narrow screen each row becomes a card in which every cell bears its column's title.
 *
 * @param options `small`: its cells are short figures, several of which stand side by side in a card.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  options: { readonly small?: boolean } = {},
): Html {
  return html`<table${options.small ? html` class="small"` : ''}>
<thead><tr>${columns.map((c) => html`<th scope="col"${c.figure ? html` class="figure"` : ''}>${c.title}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (row) => html`<tr>${row.map((cell, i) => {
    const classes = [columns[i]?.figure ? 'figure' : '', cell.alarm ? 'alarm' : ''].filter((name) => name !== '');
    return html`<td data-title="${columns[i]?.title}"${classes.length > 0 ? html` class="${classes.join(' ')}"` : ''}>${cell.shows}</td>`;
  })}</tr>
`,
)}</tbody>
</table>`;
}
