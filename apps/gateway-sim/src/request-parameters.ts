import type { FastifyRequest } from 'fastify';

/** The parameters of one call as text, from the query and the body; the body wins. */
export type Parameters = Readonly<Record<string, string | undefined>>;

/** Reads query string, form or JSON body; of a repeated parameter the last counts. Lists are joined with commas. */
export function readParameters(request: FastifyRequest): Parameters {
  const parameters: Record<string, string | undefined> = Object.create(null);
  for (const source of [request.query, request.body]) {
    if (typeof source !== 'object' || source === null || Array.isArray(source)) continue;
    for (const [name, value] of Object.entries(source)) parameters[name] = asText(value, request.body === source);
  }
  return parameters;
}

function asText(value: unknown, joinLists: boolean): string | undefined {
  if (Array.isArray(value))
    return joinLists && isJsonList(value) ? value.map(String).join(',') : asText(value.at(-1), false);
  if (value === undefined || value === null) return undefined;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// In a form a list means that a parameter came twice; only a JSON body has lists of its own, told by its numbers or
// phone-like strings.
function isJsonList(value: readonly unknown[]): boolean {
  return value.every((entry) => typeof entry === 'number' || (typeof entry === 'string' && /^\+?\d+$/.test(entry)));
}
