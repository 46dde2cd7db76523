import type { Message, PreparedContent } from './message.ts';
import { type MessageFault, type MessageProblem, problem } from './message-problem.ts';
import { fieldName } from './message-shape.ts';
import { foreignIdFault, textFault } from './message-text.ts';
import { countSegments } from './segments.ts';
import type { MessageChannel, MessageClass } from './state.ts';
import { type MessageTemplate, renderTemplate } from './template.ts';

/** A longer text is a mistake that costs ten times the price per recipient. */
const MAX_SMS_SEGMENTS = 10;
const MAX_SMS_UNITS = MAX_SMS_SEGMENTS * 153;
/** Any text of so many units fits, whatever its alphabet and wherever its pairs fall: 67 units a part, of which one may stay empty. */
const FITS_SMS_UNITS = MAX_SMS_SEGMENTS * 66;
/** Characters (code points): the limit of a WhatsApp and of a Telegram text. */
const MAX_TEXT_CHARACTERS = 4096;
const MAX_PARAM_UNITS = 2 * MAX_TEXT_CHARACTERS;

/** Finds a template that may be used: in that version, or in its highest. */
export type TemplateLookup = (id: string, version: number | undefined) => MessageTemplate | undefined;

/** What says the text: of a message, or of a step that follows it. */
export type GivenContent = Pick<Message, 'body' | 'template' | 'dlt'>;

/** What a text is judged by besides itself. */
export interface ContentContext {
  readonly channel: MessageChannel;
  readonly messageClass: MessageClass;
  readonly lookup: TemplateLookup;
  /** Where it stands in the message: `['fallback', 1]`; a message's own: `[]`. */
  readonly path: readonly (string | number)[];
}

export type Content =
  | { readonly ok: false; readonly problems: readonly MessageProblem[] }
  | { readonly ok: true; readonly template: MessageTemplate | undefined; readonly columns: PreparedContent };

/** The text that is sent, with its count: the given body, or the template filled. */
export function readContent(given: GivenContent, context: ContentContext): Content {
  const refused = (field: string, reason: MessageFault): Content => ({
    ok: false,
    problems: [problem(fieldName([...context.path, field]), reason)],
  });
  if (given.body !== undefined && given.template !== undefined) return refused('body', 'body_and_template');
  if (given.template !== undefined) return templateContent(given, given.template, context);
  if (given.body === undefined) return refused('body', 'missing');
  const reason = bodyFault(given.body, context.channel);
  if (reason !== undefined) return refused('body', reason);
  const columns = contentColumns(given, given.body, context.channel, undefined, null);
  return { ok: true, template: undefined, columns };
}

function templateContent(
  given: GivenContent,
  wanted: NonNullable<GivenContent['template']>,
  { channel, messageClass, lookup, path }: ContentContext,
): Content {
  const at = (...steps: string[]) => fieldName([...path, ...steps]);
  const params = wanted.params ?? {};
  const unusable = Object.entries(params).flatMap(([name, value]) => {
    const reason = value.length > MAX_PARAM_UNITS ? 'too_long' : (textFault(value) ?? textFault(name));
    return reason === undefined ? [] : [problem(at('template', 'params', name), reason)];
  });
  if (unusable.length > 0) return { ok: false, problems: unusable };
  // The id's own fault is reported with the other names.
  if (foreignIdFault(wanted.id) !== undefined) return { ok: false, problems: [] };
  const template = lookup(wanted.id, wanted.version);
  if (template === undefined) return { ok: false, problems: [problem(at('template', 'id'), 'template_unknown')] };

  const rendered = renderTemplate(template, params, messageClass);
  const problems: MessageProblem[] = [];
  if (template.channel !== channel) problems.push(problem(at('template', 'id'), 'template_channel'));
  if (differs(given.dlt?.entityId, template.dltEntityId)) problems.push(problem(at('dlt', 'entityId'), 'dlt_mismatch'));
  if (differs(given.dlt?.templateId, template.dltTemplateId)) {
    problems.push(problem(at('dlt', 'templateId'), 'dlt_mismatch'));
  }
  if (!rendered.ok) {
    for (const { field, reason } of rendered.problems) {
      const where = reason === 'template_class' ? at('template', 'id') : at('template', 'params', field);
      problems.push(problem(where, reason));
    }
    return { ok: false, problems };
  }
  const reason = bodyFault(rendered.body, channel);
  if (reason !== undefined) problems.push(problem(at('template', 'params'), reason));
  if (problems.length > 0) return { ok: false, problems };
  const columns = contentColumns(given, rendered.body, channel, template, rendered.storedParams);
  return { ok: true, template, columns };
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
    if (body.length <= FITS_SMS_UNITS) return undefined;
    return countSegments(body, 'gsm7').segments > MAX_SMS_SEGMENTS ? 'too_many_segments' : undefined;
  }
  return body.length > MAX_TEXT_CHARACTERS && [...body].length > MAX_TEXT_CHARACTERS ? 'too_long' : undefined;
}

function contentColumns(
  given: GivenContent,
  body: string,
  channel: MessageChannel,
  template: MessageTemplate | undefined,
  params: Readonly<Record<string, string>> | null,
): PreparedContent {
  const gsm = countSegments(body, 'gsm7');
  // The two rules differ in letters that are GSM-7 and not ASCII.
  const ascii = gsm.encoding === 'GSM7' && Buffer.byteLength(body) !== body.length ? countSegments(body, 'ascii') : gsm;
  // Only an SMS is billed by its parts; everywhere else one message is one unit.
  const inParts = channel === 'sms';
  return {
    body,
    encoding: gsm.encoding,
    segments: inParts ? gsm.segments : 1,
    ascii_encoding: ascii.encoding,
    ascii_segments: inParts ? ascii.segments : 1,
    dlt_entity_id: given.dlt?.entityId ?? template?.dltEntityId ?? null,
    dlt_template_id: given.dlt?.templateId ?? template?.dltTemplateId ?? null,
    template_id: template?.id ?? null,
    template_version: template?.version ?? null,
    template_params: params,
  };
}
