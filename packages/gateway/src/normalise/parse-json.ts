/** JSON in which every number is the text it was written as. */
export type JsonValue = string | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue | undefined;
}

/**
 * Parses a complete JSON text; undefined if it is none. No number passes through a JavaScript number: ids have 19 digits
 * and some endpoints do not quote them, and an amount of `0.10` is not `0.1`. Since nothing this provider sends needs
 * arithmetic, all numbers come back as their source text, so there is no size at which the rule changes.
 */
export function parseJson(text: string): JsonValue | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''), sourceOfNumbers);
    return isJson(value) ? value : undefined;
  } catch {
    // Not JSON, or nested deeper than the parser can go: no reply of a known family either way.
    return undefined;
  }
}

// The published types do not know the third argument of a reviver yet; Node 22 and later pass it.
function sourceOfNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? (context?.source ?? null) : value;
}

/** After the reviver only these types are left; the walk is left out, as the parser made the value itself. */
function isJson(value: unknown): value is JsonValue {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'object';
}

export function asObject(value: JsonValue | undefined): JsonObject | null {
  return isObject(value) ? value : null;
}

export function asList(value: JsonValue | undefined): readonly JsonValue[] | null {
  return isList(value) ? value : null;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value);
}

// `Array.isArray` alone does not narrow a read-only array.
function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
