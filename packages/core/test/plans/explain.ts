import type pg from 'pg';
import { rowsOf, type Sql } from '../../src/ledger/index.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Plan Rows'?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface Explained {
  readonly text: string;
  /** `custom`: planned for these parameters. `generic`: what the workers' named statements run with. */
  readonly kind: 'custom' | 'generic';
  readonly plan: PlanNode;
}

/** Runs statements as they are, and asks for the plan of each before it does. */
export class Explainer implements Sql {
  readonly explained: Explained[] = [];
  readonly #client: pg.PoolClient;
  readonly #generic: boolean;

  constructor(client: pg.PoolClient, serverVersion: number) {
    this.#client = client;
    this.#generic = serverVersion >= 160_000;
  }

  async query(text: string, values: unknown[] = []) {
    if (/^\s*(select|with|update|insert|delete)\b/i.test(text)) {
      await this.#explain(text, 'custom', values);
      if (this.#generic && values.length > 0) await this.#explain(text, 'generic', []);
    }
    return this.#client.query(text, values);
  }

  async #explain(text: string, kind: 'custom' | 'generic', values: unknown[]): Promise<void> {
    const options = kind === 'generic' ? 'generic_plan, format json' : 'format json';
    const [row] = await rowsOf<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      this.#client,
      `explain (${options}) ${text}`,
      values,
    );
    if (row !== undefined) this.explained.push({ text, kind, plan: row['QUERY PLAN'][0].Plan });
  }
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

export interface Catalogue {
  /** Rows of each partition, by its name. */
  readonly rows: ReadonlyMap<string, number>;
  /** The index of the parent that a partition's index belongs to; its own name where it has none. */
  readonly indexOf: ReadonlyMap<string, string>;
}

export async function catalogue(pool: pg.Pool): Promise<Catalogue> {
  const indexes = await rowsOf<{ child: string; parent: string }>(
    pool,
    `select c.relname::text as child, p.relname::text as parent
     from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent where p.relkind = 'I'`,
  );
  const tables = await rowsOf<{ name: string; parent: string }>(
    pool,
    `select c.relname::text as name, p.relname::text as parent
     from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent where p.relkind = 'p'`,
  );
  const rows = new Map<string, number>();
  for (const { name } of [...tables, { name: 'provider_message' }]) {
    const [count] = await rowsOf<{ n: string }>(pool, `select count(*) as n from sendledger.${name}`);
    rows.set(name, Number(count?.n ?? 0));
  }
  return { rows, indexOf: new Map(indexes.map((i) => [i.child, i.parent])) };
}

/** A partition of this many rows is not small enough to be read whole. */
const MANY = 1_500;

/**
 * What is wrong with a plan: a big partition read whole for less than half of its rows, or an index read whole. The last is
 * the plan that a join of a parameter list flips to when statistics are stale: it reads the whole backlog at each call.
 */
export function faults(
  explained: readonly Explained[],
  facts: Catalogue,
  wholeIndexIsFine: readonly string[],
): string[] {
  const found = new Set<string>();
  for (const { kind, plan, text } of explained)
    for (const node of nodes(plan)) {
      const table = node['Relation Name'] ?? '';
      const rows = facts.rows.get(table) ?? 0;
      const statement = text.replace(/\s+/g, ' ').trim().slice(0, 70);
      if (node['Node Type'] === 'Seq Scan' && rows > MANY && (node['Plan Rows'] ?? 0) < rows / 2)
        found.add(`${kind}: reads all ${rows} rows of ${table}: ${statement}`);
      const index = facts.indexOf.get(node['Index Name'] ?? '') ?? node['Index Name'] ?? '';
      if (/^Index (Only )?Scan$/.test(node['Node Type']) && node['Index Cond'] === undefined && rows > MANY)
        if (!wholeIndexIsFine.includes(index)) found.add(`${kind}: reads all of ${index} on ${table}: ${statement}`);
    }
  return [...found];
}

export function indexesUsed(explained: readonly Explained[], facts: Catalogue): string[] {
  const used = explained
    .flatMap((e) => nodes(e.plan))
    .flatMap((node) => node['Index Name'] ?? [])
    .map((name) => facts.indexOf.get(name) ?? name);
  return [...new Set(used)].sort();
}
