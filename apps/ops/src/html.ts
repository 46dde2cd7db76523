/** A piece of a page that is markup already. Only {@link html} makes one, so whatever else is put into a page is text. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** What may be put into a template. Nothing is shown for null, undefined and false. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

/** Markup with values in it, each escaped for text and for attributes in double quotes; lists are joined. */
export function html(markup: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(String.raw({ raw: markup }, ...values.map(shown)));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function shown(value: Part): string {
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(shown).join('');
  if (value === null || value === undefined || value === false) return '';
  return (
    String(value)
      .replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')
      // Words of others: what steers a terminal or turns the direction of writing is made visible.
      .replace(/(?![\t\n])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
  );
}
