import type { Message, PreparedMessage } from './message.ts';
import { type MessageFault, type MessageProblem, problem } from './message-problem.ts';
import { fieldName } from './message-shape.ts';
import { foreignIdFault, textFault } from './message-text.ts';
import { countSegments } from './segments.ts';
import type { MessageChannel } from './state.ts';
import { type MessageTemplate, renderTemplate } from './template.ts';

/** A longer text is a mistake that costs ten times the price per recipient. */
const MAX_SMS_SEGMENTS = 10;
const MAX_SMS_UNITS = MAX_SMS_SEGMENTS * 153;
/** Characters (code points): the limit of a WhatsApp and of a Telegram text. */
const MAX_TEXT_CHARACTERS = 4096;
const MAX_PARAM_UNITS = 2 * MAX_TEXT_CHARACTERS;

/** Finds a template that may be used: in that version, or in its highest. */
export type TemplateLookup = (id: string, version: number | undefined) => MessageTemplate | undefined;

type ContentColumns = Pick<
  PreparedMessage,
  | 'body'
  | 'encoding'
  | 'segments'
  | 'ascii_encoding'
  | 'ascii_segments'
  | 'dlt_entity_id'
  | 'dlt_template_id'
  | 'template_id'
  | 'template_version'
  | 'template_params'
>;

export type Content =
  | { readonly ok: false; readonly problems: readonly MessageProblem[] }
  | { readonly ok: true; readonly template: MessageTemplate | undefined; readonly columns: ContentColumns };

function refused(...problems: MessageProblem[]): Content {
  return { ok: false, problems };
}

/** The text that is sent, with its count: the given body, or the template filled. */
export function readContent(message: Message, channel: MessageChannel, lookup: TemplateLookup): Content {
  if (message.body !== undefined && message.template !== undefined) {
    return refused(problem('body', 'body_and_template'));
  }
  if (message.template !== undefined) return templateContent(message, message.template, channel, lookup);
  if (message.body === undefined) return refused(problem('body', 'missing'));
  const reason = bodyFault(message.body, channel);
  if (reason !== undefined) return refused(problem('body', reason));
  return { ok: true, template: undefined, columns: contentColumns(message, message.body, channel, undefined, null) };
}

function templateContent(
  message: Message,
  wanted: NonNullable<Message['template']>,
  channel: MessageChannel,
  lookup: TemplateLookup,
): Content {
  const params = wanted.params ?? {};
  const unusable = Object.entries(params).flatMap(([name, value]) => {
    const reason = value.length > MAX_PARAM_UNITS ? 'too_long' : (textFault(value) ?? textFault(name));
    return reason === undefined ? [] : [problem(fieldName(['template', 'params', name]), reason)];
  });
  if (unusable.length > 0) return refused(...unusable);
  // The id's own fault is reported with the other names.
  if (foreignIdFault(wanted.id) !== undefined) return refused();
  const template = lookup(wanted.id, wanted.version);
  if (template === undefined) return refused(problem('template.id', 'template_unknown'));

  const rendered = renderTemplate(template, params, message.class);
  const problems: MessageProblem[] = [];
  if (template.channel !== channel) problems.push(problem('template.id', 'template_channel'));
  if (differs(message.dlt?.entityId, template.dltEntityId)) problems.push(problem('dlt.entityId', 'dlt_mismatch'));
  if (differs(message.dlt?.templateId, template.dltTemplateId)) {
    problems.push(problem('dlt.templateId', 'dlt_mismatch'));
  }
  if (!rendered.ok) {
    for (const { field, reason } of rendered.problems) {
      const path = reason === 'template_class' ? 'template.id' : fieldName(['template', 'params', field]);
      problems.push(problem(path, reason));
    }
    return refused(...problems);
  }
  const reason = bodyFault(rendered.body, channel);
  if (reason !== undefined) problems.push(problem('template.params', reason));
  if (problems.length > 0) return refused(...problems);
  return {
    ok: true,
    template,
    columns: contentColumns(message, rendered.body, channel, template, rendered.storedParams),
  };
}

function differs(given: string | undefined, registered: string | null): boolean {
  return given !== undefined && registered !== null && given !== registered;
}

function bodyFault(body: string, channel: MessageChannel): MessageFault | undefined {
  // No text of more units than this fits, whatever its characters are: a UTF-16 unit is at least one septet.
  if (channel === 'sms' && body.length > MAX_SMS_UNITS) return 'too_many_segments';
  if (body.length > 2 * MAX_TEXT_CHARACTERS) return 'too_long';
  const fault = textFault(body);
  if (fault !== undefined) return fault;
  if (body.trim().length === 0) return 'empty';
  if (channel === 'sms') {
    return countSegments(body, 'gsm7').segments > MAX_SMS_SEGMENTS ? 'too_many_segments' : undefined;
  }
  return body.length > MAX_TEXT_CHARACTERS && [...body].length > MAX_TEXT_CHARACTERS ? 'too_long' : undefined;
}

function contentColumns(
  message: Message,
  body: string,
  channel: MessageChannel,
  template: MessageTemplate | undefined,
  params: Readonly<Record<string, string>> | null,
): ContentColumns {
  const gsm = countSegments(body, 'gsm7');
  const ascii = countSegments(body, 'ascii');
  // Only an SMS is billed by its parts; everywhere else one message is one unit.
  const inParts = channel === 'sms';
  return {
    body,
    encoding: gsm.encoding,
    segments: inParts ? gsm.segments : 1,
    ascii_encoding: ascii.encoding,
    ascii_segments: inParts ? ascii.segments : 1,
    dlt_entity_id: message.dlt?.entityId ?? template?.dltEntityId ?? null,
    dlt_template_id: message.dlt?.templateId ?? template?.dltTemplateId ?? null,
    template_id: template?.id ?? null,
    template_version: template?.version ?? null,
    template_params: params,
  };
}
