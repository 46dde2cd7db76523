import { MESSAGE_CHANNELS, MESSAGE_CLASSES, type Message } from '@sendledger/core';
import { type LineProblem, lineProblem } from './line-problem.ts';
import type { MessageDefaults, MessageLine } from './message-file.ts';

/** Every field a file may have, and where it stands in a message. */
export const FILE_FIELDS = {
  recipient: 'to',
  to: 'to',
  body: 'body',
  template: 'template.id',
  template_version: 'template.version',
  event_id: 'event.id',
  event_type: 'event.type',
  event_version: 'event.version',
  class: 'class',
  channel: 'channel',
  sender: 'sender',
  tenant: 'tenant',
  step: 'key.step',
  bucket: 'key.bucket',
  scheduled_for: 'scheduledFor',
  scheduled_tz: 'scheduledTz',
  held_by: 'heldBy',
  submit_by: 'submitBy',
  route: 'route',
  campaign: 'campaign',
  on_proven_absent: 'onProvenAbsent',
  dlt_entity_id: 'dlt.entityId',
  dlt_template_id: 'dlt.templateId',
} as const;

export type FileField = keyof typeof FILE_FIELDS;

const PARAMS = 'template.params.';

/** A message's field as the file calls it: `event.id` → `event_id`, `template.params.code` → `params.code`. */
export function fileField(field: string): string {
  if (field.startsWith(PARAMS)) return `params.${field.slice(PARAMS.length)}`;
  const found = Object.entries(FILE_FIELDS).find(([, path]) => path === field.replace(/\[\d+\]$/, ''));
  return found?.[0] ?? field;
}

/** Builds the message of one line; everything that is wrong with its fields is found together. */
export function messageOf(
  line: number,
  fields: Readonly<Record<string, unknown>>,
  params: unknown,
  defaults: MessageDefaults,
): MessageLine {
  const problems: LineProblem[] = [];
  const given = readFields(fields, problems);
  const variables = readParams(params, problems);

  if (given.to !== undefined && given.recipient !== undefined)
    problems.push(lineProblem('recipient', 'recipient_and_to'));
  const to = given.recipient ?? given.to;
  const eventType = given.event_type ?? defaults.eventType;
  const messageClass = given.class ?? defaults.class;
  const isBad = (field: string) => problems.some((problem) => problem.field === field);
  const need = (field: FileField, value: string | undefined): value is string => {
    if (value !== undefined) return true;
    if (!isBad(field)) problems.push(lineProblem(field, field === 'event_id' ? 'event_id_missing' : 'missing'));
    return false;
  };
  const whole = [
    need('recipient', to),
    need('event_id', given.event_id),
    need('event_type', eventType),
    need('class', messageClass),
  ].every(Boolean);
  if (given.body === undefined && given.template === undefined && !isBad('body') && !isBad('template'))
    problems.push(lineProblem('body', 'missing'));
  if (given.template === undefined && !isBad('template'))
    for (const name of Object.keys(variables)) problems.push(lineProblem(name, 'variable_without_template'));
  const version = readVersion(given.template_version, problems);
  const klass = oneOf(MESSAGE_CLASSES, 'class', messageClass, problems);
  const channel = oneOf(MESSAGE_CHANNELS, 'channel', given.channel, problems);
  const heldBy = oneOf(['us', 'provider'] as const, 'held_by', given.held_by, problems);
  const onProvenAbsent = oneOf(['replay', 'stop'] as const, 'on_proven_absent', given.on_proven_absent, problems);
  if (problems.length > 0 || !whole || to === undefined || klass === undefined) return { ok: false, line, problems };

  const message: Message = {
    to,
    class: klass,
    event: defined({ type: eventType ?? '', id: given.event_id ?? '', version: given.event_version }),
    ...defined({
      tenant: given.tenant ?? defaults.tenant,
      channel,
      body: given.body,
      sender: given.sender ?? defaults.sender,
      scheduledFor: given.scheduled_for,
      scheduledTz: given.scheduled_tz,
      heldBy,
      submitBy: given.submit_by,
      route: given.route ?? defaults.route,
      campaign: given.campaign,
      onProvenAbsent,
    }),
  };
  const key = defined({ step: given.step, bucket: given.bucket });
  const dlt = defined({ entityId: given.dlt_entity_id, templateId: given.dlt_template_id });
  if (Object.keys(key).length > 0) message.key = key;
  if (Object.keys(dlt).length > 0) message.dlt = dlt;
  if (given.template !== undefined) message.template = defined({ id: given.template, version, params: variables });
  return { ok: true, line, message };
}

type Given = { [Field in FileField]?: string };

/** Ids are text: a JSON number would have lost its leading zeros before it got here. A version counts, so it may be one. */
function readFields(fields: Readonly<Record<string, unknown>>, problems: LineProblem[]): Given {
  const given: Given = {};
  for (const [name, value] of Object.entries(fields)) {
    if (!isFileField(name)) problems.push(lineProblem(printable(name), 'unknown_field'));
    else if (value === null) continue;
    else if (typeof value === 'string') given[name] = value;
    else if (name === 'template_version' && typeof value === 'number') given[name] = String(value);
    else problems.push(lineProblem(name, 'wrong_type'));
  }
  return given;
}

function readParams(params: unknown, problems: LineProblem[]): Record<string, string> {
  if (params === undefined) return {};
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    problems.push(lineProblem('params', 'wrong_type'));
    return {};
  }
  const texts: [string, string][] = [];
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === 'string') texts.push([name, value]);
    else problems.push(lineProblem(`params.${printable(name)}`, 'wrong_type'));
  }
  return Object.fromEntries(texts);
}

function readVersion(text: string | undefined, problems: LineProblem[]): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  problems.push(lineProblem('template_version', 'not_allowed'));
  return undefined;
}

function oneOf<T extends string>(
  allowed: readonly T[],
  field: string,
  value: string | undefined,
  problems: LineProblem[],
): T | undefined {
  const found = allowed.find((one) => one === value);
  if (value !== undefined && found === undefined) problems.push(lineProblem(field, 'not_allowed'));
  return found;
}

export function isFileField(name: string): name is FileField {
  return Object.hasOwn(FILE_FIELDS, name);
}

/** What a file has as a name is cut and made printable: it is shown on a terminal. */
function printable(name: string): string {
  return name.slice(0, 64).replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> } extends infer D
  ? { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
      [K in keyof T as undefined extends T[K] ? K : never]?: K extends keyof D ? D[K] : never;
    }
  : never;

/** The same object without what is undefined: an absent field and an undefined one are not the same to the checks. */
function defined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>;
}
