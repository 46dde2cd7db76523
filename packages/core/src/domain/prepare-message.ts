import { type Message, messageSchema, type PreparedMessage } from './message.ts';
import { readContent } from './message-content.ts';
import { readFallback } from './message-fallback.ts';
import { type MessageFault, type MessageProblem, problem } from './message-problem.ts';
import { readRecipients } from './message-recipients.ts';
import { shapeProblems } from './message-shape.ts';
import { eventIdFault, foreignIdFault, nameFault, senderFault } from './message-text.ts';
import { holderProblems, readTimes } from './message-times.ts';
import type { MessageTemplate } from './template.ts';

/** What a message is judged by besides itself. Nothing here is asked of a network or a clock. */
export interface PrepareContext {
  /** Used where the message names none. */
  readonly tenant?: string | undefined;
  readonly now: Date;
  /** ISO country by whose rules the tenant's numbers without a country code are read. */
  defaultRegion(tenantId: string): string | undefined;
  /** The template in that version, or in its highest; undefined when there is none that may be used. */
  template(id: string, version: number | undefined): MessageTemplate | undefined;
}

export type Prepared =
  | { readonly ok: true; readonly rows: readonly PreparedMessage[] }
  | {
      readonly ok: false;
      readonly problems: readonly MessageProblem[];
      /**
       * Rows of the recipients that no problem concerns, in the order of `to`. Empty when the whole message is refused: then
       * some problem's `to` is null.
       */
      readonly rows: readonly PreparedMessage[];
    };

/**
 * Turns a message into one row per recipient, or says everything that is wrong with it. Pure; raises nothing for data, whatever
 * its shape. Cheap checks come first: a megabyte of text is refused by its length before a character is looked at.
 */
export function prepareMessage(input: unknown, context: PrepareContext): Prepared {
  const parsed = messageSchema.safeParse(input);
  if (!parsed.success) return refused(parsed.error.issues.flatMap((issue) => shapeProblems(issue, input)));
  const message = parsed.data;
  const channel = message.channel ?? 'sms';

  const tenant = message.tenant ?? context.tenant;
  const lookup = (id: string, version: number | undefined) => context.template(id, version);
  const sender = senderFault(message.sender, channel);
  const times = readTimes(message, context.now);
  const found: MessageProblem[] = [
    ...(tenant === undefined ? [problem('tenant', 'missing')] : []),
    ...nameProblems(message, tenant),
    ...(sender === undefined ? [] : [problem('sender', sender)]),
    ...times.problems,
    ...holderProblems(message),
    ...codeProblems(message),
  ];
  const content = readContent(message, { channel, messageClass: message.class, lookup, path: [] });
  if (!content.ok) found.push(...content.problems);
  const fallback = readFallback(message, channel, content.ok ? content.template : undefined, lookup);
  found.push(...fallback.problems);
  const recipients = readRecipients(message, channel, context.defaultRegion(tenant ?? ''));
  if (found.length > 0 || tenant === undefined || !content.ok) return refused([...found, ...recipients.problems]);

  const shared = {
    tenant_id: tenant,
    channel,
    message_class: message.class,
    sender_id: message.sender ?? content.template?.senderId ?? null,
    event_type: message.event.type,
    event_id: message.event.id,
    event_version: message.event.version === undefined ? null : String(message.event.version),
    key_template: message.key?.template ?? null,
    key_version: message.key?.version ?? null,
    key_step: message.key?.step ?? null,
    key_bucket: message.key?.bucket ?? null,
    ...content.columns,
    route: message.route ?? null,
    scheduled_for: times.scheduledFor,
    scheduled_tz: message.scheduledTz ?? null,
    held_by: message.heldBy ?? null,
    submit_by: times.submitBy,
    campaign_id: message.campaign ?? null,
    on_proven_absent: message.onProvenAbsent ?? (message.class === 'otp' ? 'stop' : 'replay'),
    fallback: fallback.steps,
  };
  const rows = recipients.numbers.map((recipient) => ({ ...shared, ...recipient }));
  return recipients.problems.length === 0 ? { ok: true, rows } : { ok: false, problems: recipients.problems, rows };
}

function refused(problems: readonly MessageProblem[]): Prepared {
  return { ok: false, problems, rows: [] };
}

function nameProblems(message: Message, tenant: string | undefined): MessageProblem[] {
  const found: MessageProblem[] = [];
  const judge = (field: string, value: unknown, fault: (text: string) => MessageFault | undefined) => {
    if (typeof value !== 'string') return;
    const reason = fault(value);
    if (reason !== undefined) found.push(problem(field, reason));
  };
  const { event, key, template, dlt } = message;
  judge('tenant', tenant, nameFault);
  judge('event.type', event.type, nameFault);
  judge('event.id', event.id, eventIdFault);
  judge('event.version', event.version, nameFault);
  judge('key.template', key?.template, nameFault);
  judge('key.version', key?.version, nameFault);
  judge('key.step', key?.step, nameFault);
  judge('key.bucket', key?.bucket, nameFault);
  judge('template.id', template?.id, foreignIdFault);
  judge('dlt.entityId', dlt?.entityId, foreignIdFault);
  judge('dlt.templateId', dlt?.templateId, foreignIdFault);
  judge('route', message.route, foreignIdFault);
  judge('campaign', message.campaign, foreignIdFault);
  return found;
}

/** What a one-time password may not do. */
function codeProblems(message: Message): MessageProblem[] {
  if (message.class !== 'otp') return [];
  return [
    ...(message.onProvenAbsent === 'replay' ? [problem('onProvenAbsent', 'otp_replay')] : []),
    ...(message.template === undefined ? [problem('template', 'otp_needs_template')] : []),
  ];
}
