import { MAX_FALLBACK_STEPS, type MessageTemplate, messageTemplate, nameFault } from '@sendledger/core';
import type { SqlExecutor } from './sql-executor.ts';

const FOUND_MS = 60_000;
/** What is not there is asked for again soon: a new tenant's first numbers would be refused for a minute. */
const ABSENT_MS = 1_000;
/** Names come from callers; beyond this many the cache starts over instead of growing. */
const MAX_ENTRIES = 10_000;

interface Entry<T> {
  readonly value: T | undefined;
  readonly until: number;
}

/** What a message is prepared with besides itself, by name of tenant and template. */
export interface Directory {
  defaultRegion(tenantId: string): string | undefined;
  template(id: string, version: number | undefined): MessageTemplate | undefined;
}

/** Reads tenants and templates in the caller's transaction, and remembers them for a minute. */
export class DirectoryCache {
  readonly #tenants = new Map<string, Entry<{ readonly defaultRegion: string | undefined }>>();
  /** Versions of one template, the highest first. */
  readonly #templates = new Map<string, Entry<readonly MessageTemplate[]>>();

  /** Loads what the messages name and is not known, in at most three statements: what a template falls back to is a third. */
  async load(sql: SqlExecutor, messages: readonly unknown[], defaultTenant: string | undefined): Promise<Directory> {
    const now = Date.now();
    const tenants = new Set<string>();
    for (const message of messages) {
      const tenant = property(message, 'tenant') ?? defaultTenant;
      if (isName(tenant) && !isFresh(this.#tenants.get(tenant), now)) tenants.add(tenant);
    }
    if (tenants.size > 0) await this.#loadTenants(sql, [...tenants], now);
    await this.#loadTemplates(sql, messages.flatMap(namedTemplates), now);
    await this.#loadTemplates(
      sql,
      messages.flatMap((message) => this.#followers(message)),
      now,
    );
    return {
      defaultRegion: (tenantId) => this.#tenants.get(tenantId)?.value?.defaultRegion,
      template: (id, version) => this.#template(id, version),
    };
  }

  #template(id: string, version: number | undefined): MessageTemplate | undefined {
    const versions = this.#templates.get(id)?.value;
    return version === undefined ? versions?.[0] : versions?.find((t) => t.version === String(version));
  }

  /** The templates that a message's template falls back to, where the message says nothing of it. */
  #followers(message: unknown): readonly unknown[] {
    if (property(message, 'fallback') !== undefined) return [];
    const template = property(message, 'template');
    const [id, version] = [property(template, 'id'), property(template, 'version')];
    if (!isName(id) || (version !== undefined && typeof version !== 'number')) return [];
    return this.#template(id, version)?.fallback?.map((step) => step.template) ?? [];
  }

  /** A version that is not among the known ones may have been registered since. */
  #knows(id: string, version: unknown, now: number): boolean {
    const entry = this.#templates.get(id);
    if (entry === undefined || !isFresh(entry, now)) return false;
    return version === undefined || entry.value === undefined || entry.value.some((t) => t.version === String(version));
  }

  async #loadTenants(sql: SqlExecutor, ids: string[], now: number): Promise<void> {
    const { rows } = await sql.query(
      'select tenant_id, default_region from sendledger.tenant where tenant_id = any($1)',
      [ids],
    );
    const found = new Map(rows.map((row) => [row.tenant_id, row.default_region]));
    for (const id of ids) {
      const region = found.get(id);
      const value = found.has(id) ? { defaultRegion: typeof region === 'string' ? region : undefined } : undefined;
      remember(this.#tenants, id, value, now);
    }
  }

  /** @param wanted what names templates, as a message does: their id, perhaps a version */
  async #loadTemplates(sql: SqlExecutor, wanted: readonly unknown[], now: number): Promise<void> {
    const unknown = new Set<string>();
    for (const template of wanted) {
      const id = property(template, 'id');
      if (isName(id) && !this.#knows(id, property(template, 'version'), now)) unknown.add(id);
    }
    if (unknown.size === 0) return;
    const ids = [...unknown];
    const { rows } = await sql.query(
      `select template_id, version, channel, message_class, body, variables, sender_id, dlt_entity_id, dlt_template_id, fallback
       from sendledger.message_template where template_id = any($1) and retired_at is null`,
      [ids],
    );
    const found = new Map<string, MessageTemplate[]>(ids.map((id) => [id, []]));
    for (const row of rows) {
      const template = readTemplate(row);
      if (template !== undefined) found.get(template.id)?.push(template);
    }
    for (const [id, versions] of found) {
      versions.sort((a, b) => Number(b.version) - Number(a.version));
      remember(this.#templates, id, versions.length === 0 ? undefined : versions, now);
    }
  }
}

/** Undefined for a template that was registered past the checks and cannot be rendered safely. */
function readTemplate(row: Record<string, unknown>): MessageTemplate | undefined {
  const parsed = messageTemplate.safeParse({
    id: row.template_id,
    version: String(row.version),
    channel: row.channel,
    messageClass: row.message_class,
    body: row.body,
    variables: jsonOf(row.variables),
    fallback: jsonOf(row.fallback),
    senderId: row.sender_id,
    dltEntityId: row.dlt_entity_id,
    dltTemplateId: row.dlt_template_id,
  });
  return parsed.success ? parsed.data : undefined;
}

/** A driver may hand jsonb over as text. */
function jsonOf(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value;
}

/** The template of a message and those of its steps, as far as anything can be read there. */
function namedTemplates(message: unknown): unknown[] {
  const steps = property(message, 'fallback');
  // Of a longer list nothing is asked for: the message is refused.
  const list: readonly unknown[] = Array.isArray(steps) ? steps.slice(0, MAX_FALLBACK_STEPS) : [];
  return [property(message, 'template'), ...list.map((step) => property(step, 'template'))];
}

/** Only what the database can take as a parameter: a NUL would abort the caller's transaction. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && nameFault(value) === undefined;
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function isFresh(entry: { readonly until: number } | undefined, now: number): boolean {
  return entry !== undefined && entry.until > now;
}

function remember<T>(cache: Map<string, Entry<T>>, key: string, value: T | undefined, now: number): void {
  if (cache.size >= MAX_ENTRIES) cache.clear();
  cache.set(key, { value, until: now + (value === undefined ? ABSENT_MS : FOUND_MS) });
}
