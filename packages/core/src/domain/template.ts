import { z } from 'zod';
import { MESSAGE_CHANNELS, MESSAGE_CLASSES, type MessageClass } from './state.ts';
import { templateFallback } from './template-fallback.ts';

/** The longest value of a variable that sets no `maxLength`, in characters. */
const DEFAULT_MAX_LENGTH = 1000;

const PLACEHOLDER = /\{\{([A-Za-z][A-Za-z0-9_]{0,63})\}\}/g;

const templateVariable = z.strictObject({
  name: z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/),
  /** In characters (code points), checked before the pattern. */
  maxLength: z.int().positive().optional(),
  /** A regular expression for the whole value; anchored here, so `\d+` does not accept `12 and more`. */
  pattern: z.string().refine(compiles, { error: 'not a regular expression' }).optional(),
  /** The value is rendered but never stored as a parameter; only an OTP may carry one. */
  secret: z.boolean().optional(),
});

export type TemplateVariable = z.infer<typeof templateVariable>;

/** The variables of a template as they stand in `message_template.variables`. Each name at most once. */
export const templateVariables = z
  .array(templateVariable)
  .refine((list) => new Set(list.map((v) => v.name)).size === list.length, { error: 'a variable is declared twice' });

const templateShape = z.strictObject({
  id: z.string().min(1),
  version: z.string().min(1),
  channel: z.enum(MESSAGE_CHANNELS),
  messageClass: z.enum(MESSAGE_CLASSES),
  body: z.string().min(1),
  variables: templateVariables,
  senderId: z.string().nullable(),
  dltEntityId: z.string().nullable(),
  dltTemplateId: z.string().nullable(),
  /** Left out: nothing follows. */
  fallback: templateFallback.optional(),
  /** Seconds for which a message of it is of use: of a one-time password the life of its code. Left out: what the lane says. */
  validForSeconds: z.int().min(10).max(604_800).nullable().optional(),
});

/**
 * One approved template in one version. A body whose braces are not all placeholders of declared variables is refused
 * here, when it is registered or read: sent, it would show `{{ name }}` to a customer and be billed.
 */
export const messageTemplate = templateShape.superRefine((template, context) => {
  const declared = new Set(template.variables.map((variable) => variable.name));
  for (const [, name = ''] of template.body.matchAll(PLACEHOLDER)) {
    if (!declared.has(name))
      context.addIssue({ code: 'custom', path: ['body'], message: `{{${name}}} is not declared` });
  }
  if (/\{\{|\}\}/.test(template.body.replace(PLACEHOLDER, ''))) {
    context.addIssue({ code: 'custom', path: ['body'], message: 'braces that are not a placeholder' });
  }
});

export type MessageTemplate = z.infer<typeof messageTemplate>;

export type TemplateFault =
  | 'missing_variable'
  | 'unknown_variable'
  | 'too_long'
  | 'pattern_mismatch'
  | 'secret_outside_otp'
  | 'template_class';

export interface TemplateProblem {
  /** The variable's name, or `template` where the template itself does not fit. */
  readonly field: string;
  readonly reason: TemplateFault;
}

export type RenderedTemplate =
  | {
      readonly ok: true;
      readonly body: string;
      /** The values that may be stored: those of secret variables are left out. */
      readonly storedParams: Readonly<Record<string, string>>;
    }
  | { readonly ok: false; readonly problems: readonly TemplateProblem[] };

/**
 * Fills a template. Values are put in once and never read again, so a value that looks like a placeholder stays text.
 * All problems are reported together; no problem carries a value.
 */
export function renderTemplate(
  template: Pick<MessageTemplate, 'messageClass' | 'body' | 'variables'>,
  params: Readonly<Record<string, string>>,
  messageClass: MessageClass,
): RenderedTemplate {
  const problems: TemplateProblem[] = [];
  if (template.messageClass !== messageClass) problems.push({ field: 'template', reason: 'template_class' });

  const values = new Map<string, string>();
  const storedParams: Record<string, string> = {};
  for (const variable of template.variables) {
    if (variable.secret === true && messageClass !== 'otp') {
      problems.push({ field: variable.name, reason: 'secret_outside_otp' });
    }
    const value = Object.hasOwn(params, variable.name) ? params[variable.name] : undefined;
    if (value === undefined) {
      problems.push({ field: variable.name, reason: 'missing_variable' });
      continue;
    }
    const fault = valueFault(variable, value);
    if (fault !== undefined) problems.push({ field: variable.name, reason: fault });
    values.set(variable.name, value);
    if (variable.secret !== true) storedParams[variable.name] = value;
  }
  const declared = new Set(template.variables.map((variable) => variable.name));
  for (const name of Object.keys(params)) {
    if (!declared.has(name)) problems.push({ field: name, reason: 'unknown_variable' });
  }
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    body: template.body.replace(PLACEHOLDER, (_, name: string) => values.get(name) ?? ''),
    storedParams,
  };
}

function valueFault(variable: TemplateVariable, value: string): TemplateFault | undefined {
  const limit = variable.maxLength ?? DEFAULT_MAX_LENGTH;
  // A character is at most two units: a value beyond that is refused without being walked.
  if (value.length > 2 * limit || [...value].length > limit) return 'too_long';
  if (variable.pattern !== undefined && !anchored(variable.pattern).test(value)) return 'pattern_mismatch';
  return undefined;
}

/** Patterns are few (they come from registered templates) and compiling one costs more than using it. */
const compiled = new Map<string, RegExp>();

function anchored(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const expression = new RegExp(`^(?:${pattern})$`, 'u');
  compiled.set(pattern, expression);
  return expression;
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    anchored(pattern);
    return true;
  } catch {
    return false;
  }
}
