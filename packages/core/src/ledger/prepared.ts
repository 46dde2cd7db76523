import { createHash } from 'node:crypto';
import type { Sql } from './sql.ts';

/** Anything of `pg` that takes a query: a client or a pool. */
interface NamedQueries {
  query(query: {
    name: string;
    text: string;
    values: unknown[];
  }): Promise<{ rows: unknown[]; rowCount: number | null }>;
}

const names = new Map<string, string>();

/** The same text has the same name in every process, so that a pooler in between may share it. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `sl_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
  names.set(text, name);
  return name;
}

/**
 * Runs each statement as a named, prepared one. Planning a statement on a partitioned table costs more than running it (two
 * milliseconds a dozen months), and the hot ones are always the same few texts.
 */
export function prepared(client: NamedQueries): Sql {
  return { query: (text, values = []) => client.query({ name: nameOf(text), text, values }) };
}
