import {
  MESSAGE_CHANNELS,
  MESSAGE_CLASSES,
  type MessageTemplate,
  messageTemplate,
  templateFallback,
} from '@sendledger/core';
import { addTemplate, durably, listTemplates } from '@sendledger/core/ledger';
import type { Command } from 'commander';
import { z } from 'zod';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { readWhole } from '../input.ts';
import { table } from '../output/table.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';

/** A template as a person writes it, with the names a message has; what it is worth is judged by core. */
const TEMPLATE_FILE = z.strictObject({
  id: z.string().regex(/\S/, 'must not be blank'),
  version: z
    .union([z.int(), z.string()])
    .transform(String)
    .pipe(z.string().regex(/^[1-9][0-9]{0,8}$/, 'must be a whole number from 1')),
  channel: z.enum(MESSAGE_CHANNELS).default('sms'),
  class: z.enum(MESSAGE_CLASSES),
  body: z.string(),
  /** A name alone is a variable without limits of its own. */
  variables: z.array(z.union([z.string().transform((name) => ({ name })), z.looseObject({})])).default([]),
  sender: z.string().nullable().default(null),
  dlt: z.strictObject({ entityId: z.string().optional(), templateId: z.string().optional() }).default({}),
  /** What follows a message of it that cannot be delivered, unless the message says otherwise. */
  fallback: templateFallback.default([]),
  /** Of a code: its life. */
  validForSeconds: z.int().min(10).max(604_800).nullable().default(null),
});

export function addTemplateCommands(program: Command): void {
  const template = program.command('template').description('approved templates');
  template
    .command('add')
    .description('register an approved template in one version')
    .argument('<file>', 'JSON file, - for standard input')
    .addHelpText(
      'after',
      `
A version is never changed once it is there: what was approved is what is sent. The same again is fine.

Example of a file:
  { "id": "1207161234567890123", "version": 1, "class": "otp", "sender": "SHOPIN",
    "body": "{{code}} is your code.",
    "variables": [{ "name": "code", "pattern": "[0-9]{6}", "secret": true }],
    "dlt": { "entityId": "1201159876543210987", "templateId": "1207161234567890123" },
    "validForSeconds": 300,
    "fallback": [{ "template": { "id": "otp-call" }, "channel": "voice" }] }

"validForSeconds" is how long a message of it is of use (of a code: its life), where none says submitBy.
"fallback" says what follows where it cannot be delivered: another template, its "channel" (sms), its "route"; with
"afterSeconds" and "mayDuplicate": true also where it is not delivered for so long.

Examples:
  sendledger template add otp.json
  jq '.version = 2' otp.json | sendledger template add -`,
    )
    .action(async (file: string) => {
      const settings = readSettings();
      const wanted = readTemplate(await readWhole(file), file);
      const answer = await withDatabase(settings.databaseUrl, (pool) =>
        durably(pool, (sql) => addTemplate(sql, wanted)),
      );
      const name = `template ${wanted.id} version ${wanted.version}`;
      if (answer === 'differs')
        throw new CliFailure(
          `${name} is registered already with other content. Register what was approved as a new version.`,
        );
      data(answer === 'added' ? `${name} added` : `${name} is registered already, with the same content`);
    });
  template
    .command('list')
    .description('show the templates')
    .option('--json', 'as JSON, with their texts')
    .action(async (options: { json?: boolean }) => {
      const templates = await withDatabase(readSettings().databaseUrl, listTemplates);
      if (options.json === true) json(templates);
      else if (templates.length === 0) talk('No template yet: sendledger template add --help');
      else
        data(
          table(
            ['ID', 'VERSION', 'CHANNEL', 'CLASS', 'RETIRED', 'BODY'],
            templates.map((t) => [
              t.id,
              t.version,
              t.channel,
              t.messageClass,
              t.retired ? 'yes' : 'no',
              shortened(t.body),
            ]),
          ),
        );
    });
}

function readTemplate(text: string, file: string): MessageTemplate {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new CliFailure(`${file} is not JSON: ${(error as Error).message}`);
  }
  const given = TEMPLATE_FILE.safeParse(value);
  if (!given.success) throw new CliFailure(`${file} is no template: ${faults(given.error)}`);
  const { id, version, channel, body, variables, sender, dlt, fallback, validForSeconds } = given.data;
  const checked = messageTemplate.safeParse({
    id,
    version,
    channel,
    messageClass: given.data.class,
    body,
    variables,
    senderId: sender,
    dltEntityId: dlt.entityId ?? null,
    dltTemplateId: dlt.templateId ?? null,
    fallback,
    validForSeconds,
  });
  if (!checked.success) throw new CliFailure(`${file} is no template: ${faults(checked.error)}`);
  return checked.data;
}

function faults(error: z.ZodError): string {
  return `${error.issues.map((issue) => `${issue.path.join('.') || 'it'}: ${issue.message}`).join('; ')}.`;
}

function shortened(body: string): string {
  const line = body.replace(/\s+/g, ' ');
  return line.length <= 60 ? line : `${line.slice(0, 59)}…`;
}
