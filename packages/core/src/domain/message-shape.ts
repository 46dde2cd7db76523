import type { z } from 'zod';
import { type MessageProblem, problem } from './message-problem.ts';

/** A problem's field is a path of names; what a caller put there as a name is cut and made printable. */
export function fieldName(path: readonly PropertyKey[]): string {
  let field = '';
  for (const step of path) {
    field += typeof step === 'number' ? `[${step}]` : `${field === '' ? '' : '.'}${shortName(String(step))}`;
  }
  return field;
}

function shortName(name: string): string {
  return name.slice(0, 64).toWellFormed().replaceAll('\0', '\uFFFD');
}

/** What the schema says of the shape, in our reasons. */
export function shapeProblems(issue: z.core.$ZodIssue, input: unknown): MessageProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, 20).map((key) => problem(fieldName([...issue.path, key]), 'unknown_field'));
  }
  const field = issue.path.length === 0 ? 'message' : fieldName(issue.path);
  if (valueAt(input, issue.path) === undefined) return [problem(field, 'missing')];
  return [problem(field, issue.code === 'invalid_value' ? 'not_allowed' : 'wrong_type')];
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}
