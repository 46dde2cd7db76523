import type { FallbackStep, Message, PreparedStep } from './message.ts';
import { readContent, type TemplateLookup } from './message-content.ts';
import { type MessageFault, type MessageProblem, problem } from './message-problem.ts';
import { fieldName } from './message-shape.ts';
import { foreignIdFault, senderFault } from './message-text.ts';
import type { MessageChannel } from './state.ts';
import type { MessageTemplate } from './template.ts';
import { MAX_AFTER_SECONDS, MAX_FALLBACK_STEPS } from './template-fallback.ts';

export interface Fallback {
  readonly problems: readonly MessageProblem[];
  /** Null where nothing follows. */
  readonly steps: readonly PreparedStep[] | null;
}

/**
 * What follows a message that cannot be delivered: its own list, else its template's. Each step is prepared as a message's own
 * text is. Problems of a template's steps carry the same paths: there the message may say otherwise.
 */
export function readFallback(
  message: Message,
  channel: MessageChannel,
  template: MessageTemplate | undefined,
  lookup: TemplateLookup,
): Fallback {
  const given: readonly FallbackStep[] = message.fallback ?? template?.fallback ?? [];
  if (given.length === 0) return { problems: [], steps: null };
  if (given.length > MAX_FALLBACK_STEPS) return { problems: [problem('fallback', 'too_many_steps')], steps: null };
  if (channel === 'telegram') return { problems: [problem('fallback', 'step_needs_number')], steps: null };
  const problems: MessageProblem[] = [];
  const steps = given.flatMap((step, position) => readStep(step, position, message, lookup, problems) ?? []);
  return { problems, steps };
}

function readStep(
  step: FallbackStep,
  position: number,
  message: Message,
  lookup: TemplateLookup,
  problems: MessageProblem[],
): PreparedStep | undefined {
  const path = ['fallback', position];
  const channel = step.channel ?? 'sms';
  const before = problems.length;
  const judge = (field: string, reason: MessageFault | undefined) => {
    if (reason !== undefined) problems.push(problem(fieldName([...path, ...field.split('.')]), reason));
  };
  judge('route', idFault(step.route));
  judge('sender', senderFault(step.sender, channel));
  judge('dlt.entityId', idFault(step.dlt?.entityId));
  judge('dlt.templateId', idFault(step.dlt?.templateId));
  judge('template.id', idFault(step.template?.id));
  if (message.class === 'otp' && step.template === undefined) judge('template', 'otp_needs_template');
  if (step.afterSeconds !== undefined) {
    judge('afterSeconds', isWait(step.afterSeconds) ? undefined : 'not_seconds');
    judge('mayDuplicate', step.mayDuplicate === true ? undefined : 'duplicate_not_accepted');
  }
  const content = readContent(
    { ...step, template: withParams(step.template, message, lookup) },
    { channel, messageClass: message.class, lookup, path },
  );
  if (!content.ok) problems.push(...content.problems);
  if (!content.ok || problems.length > before) return undefined;
  return {
    channel,
    route: step.route ?? null,
    sender_id: step.sender ?? content.template?.senderId ?? null,
    ...content.columns,
    after_s: step.afterSeconds ?? null,
    may_duplicate: step.mayDuplicate ?? false,
  };
}

/** A step that names no parameters takes those of the message's that its template declares. */
function withParams(
  template: FallbackStep['template'],
  message: Message,
  lookup: TemplateLookup,
): FallbackStep['template'] {
  if (template === undefined || template.params !== undefined || foreignIdFault(template.id) !== undefined)
    return template;
  const declared = lookup(template.id, template.version)?.variables.map(({ name }) => name) ?? [];
  const given = message.template?.params ?? {};
  const shared = declared.flatMap((name) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...template, params: Object.fromEntries(shared) };
}

function idFault(id: string | undefined): MessageFault | undefined {
  return id === undefined ? undefined : foreignIdFault(id);
}

function isWait(seconds: number): boolean {
  return Number.isSafeInteger(seconds) && seconds >= 1 && seconds <= MAX_AFTER_SECONDS;
}
