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
    if (/\bsendledger\.mark_next\(/.test(text)) return this.#explainInside(text, values);
    if (/^\s*(select|with|update|insert|delete)\b/i.test(text)) {
      await this.#explain(text, 'custom', values);
      if (this.#generic && values.length > 0) await this.#explain(text, 'generic', []);
    }
    return this.#client.query(text, values);
  }

  /** For functions that begin and commit by themselves: their transaction is the one this explainer is in. */
  asPool(): pg.Pool {
    const client = {
      query: async (query: string | { text: string; values: unknown[] }) => {
        if (typeof query !== 'string') return this.query(query.text, query.values);
        return { rows: [], rowCount: 0, command: query.toUpperCase() };
      },
      on: () => client,
      off: () => client,
      release: () => undefined,
    };
    return { connect: async () => client } as unknown as pg.Pool;
  }

  /** The statements of a function, as the server plans them: run for each kind, the first run is taken back. */
  async #explainInside(text: string, values: unknown[]) {
    const told: string[] = [];
    const listen = (notice: { readonly message?: string | undefined }) => told.push(notice.message ?? '');
    await this.#client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
      set auto_explain.log_format = 'json'; set auto_explain.log_level = 'notice'`);
    this.#client.on('notice', listen);
    try {
      for (const kind of ['custom', 'generic'] as const) {
        told.length = 0;
        // A function keeps its plans for the session; another setting makes it choose again.
        await this.#client.query(`savepoint looked_at; set local plan_cache_mode = force_${kind}_plan`);
        await this.#client.query(text, values);
        await this.#client.query('rollback to savepoint looked_at');
        for (const message of told) {
          const json = /^duration: .*?plan:\s*(\{.*)$/s.exec(message)?.[1];
          if (json === undefined) continue;
          const { 'Query Text': statement, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode };
          if (statement !== text) this.explained.push({ text: statement, kind, plan });
        }
      }
    } finally {
      this.#client.off('notice', listen);
      await this.#client.query('set auto_explain.log_min_duration = -1');
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
  readonly indexes: ReadonlyMap<string, IndexFacts>;
}

interface IndexFacts {
  /** The index of the parent that a partition's index belongs to; its own name where it has none. */
  readonly parent: string;
  readonly table: string;
  readonly leading: string;
  readonly pages: number;
}

export async function catalogue(pool: pg.Pool): Promise<Catalogue> {
  const indexes = await rowsOf<IndexFacts & { name: string }>(
    pool,
    `select c.relname::text as name, coalesce(p.relname, c.relname)::text as parent, t.relname::text as table,
       pg_get_indexdef(x.indexrelid, 1, true) as leading, (pg_relation_size(c.oid) / 8192)::int as pages
     from pg_index x join pg_class c on c.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
     left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relnamespace = 'sendledger'::regnamespace and c.relkind = 'i'`,
  );
  const rows = new Map<string, number>();
  for (const table of new Set(indexes.map((index) => index.table))) {
    const [count] = await rowsOf<{ n: string }>(pool, `select count(*) as n from sendledger.${table}`);
    rows.set(table, Number(count?.n ?? 0));
  }
  return { rows, indexes: new Map(indexes.map(({ name, ...facts }) => [name, facts])) };
}

/** A partition of this many rows is not small enough to be read whole. */
const MANY_ROWS = 1_500;
/** An index of so few pages is: those of months in which nothing waits any more. */
const FEW_PAGES = 4;

/**
 * What is wrong with a plan: a big partition read whole for less than a tenth of its rows, or an index read whole, which is one
 * whose first column is not in the condition. The last is what a plan flips to when statistics are from before a burst: a
 * partial index that was empty then looks cheaper than the key, and every call reads the whole backlog.
 */
export function faults(
  explained: readonly Explained[],
  facts: Catalogue,
  wholeIndexIsFine: readonly string[],
): string[] {
  const found = new Set<string>();
  for (const { kind, plan, text } of explained)
    for (const node of nodes(plan)) {
      const statement = text.replace(/\s+/g, ' ').trim().slice(0, 90);
      const table = node['Relation Name'] ?? '';
      const rows = facts.rows.get(table) ?? 0;
      if (node['Node Type'] === 'Seq Scan' && rows > MANY_ROWS && (node['Plan Rows'] ?? 0) < rows / 10)
        found.add(`${kind}: reads all ${rows} rows of ${table}: ${statement}`);
      const index = facts.indexes.get(node['Index Name'] ?? '');
      if (index === undefined || index.pages <= FEW_PAGES || wholeIndexIsFine.includes(index.parent)) continue;
      const condition = node['Index Cond'] ?? '';
      if (!new RegExp(`\\b${index.leading}\\b`).test(condition))
        found.add(`${kind}: reads all of ${index.parent} (${index.table}, by "${condition}"): ${statement}`);
    }
  return [...found];
}

export function indexesUsed(explained: readonly Explained[], facts: Catalogue): string[] {
  const used = explained
    .flatMap((e) => nodes(e.plan))
    .flatMap((node) => node['Index Name'] ?? [])
    .map((name) => facts.indexes.get(name)?.parent ?? name);
  return [...new Set(used)].sort();
}

/** Partitions of more than a few rows that a plan reads from end to end, whatever part of them it wants. */
export function wholeScans(explained: readonly Explained[], facts: Catalogue): string[] {
  const found = new Set<string>();
  for (const { kind, plan, text } of explained)
    for (const node of nodes(plan)) {
      const rows = facts.rows.get(node['Relation Name'] ?? '') ?? 0;
      if (node['Node Type'] === 'Seq Scan' && rows > MANY_ROWS)
        found.add(`${kind}: ${node['Relation Name']}: ${text.replace(/\s+/g, ' ').trim().slice(0, 90)}`);
    }
  return [...found];
}
