import { MESSAGE_CLASSES, type MessageClass } from '@sendledger/core';
import { durably, listTenants, setTenant, type TenantSettings } from '@sendledger/core/ledger';
import { type Command, InvalidArgumentError } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { matching, someText, wholeBetween } from '../options.ts';
import { table } from '../output/table.ts';
import { data, json, talk } from '../output/write.ts';
import { readSettings } from '../settings.ts';

interface SetOptions {
  region?: string;
  classes?: readonly MessageClass[] | 'all';
  weight?: number;
  by: string;
  why: string;
}

const region = matching(/^[A-Z]{2}$/, 'An ISO 3166 code, e.g. IN.');

export function addTenantCommands(program: Command): void {
  const tenant = program.command('tenant').description('tenants: who sends, and what they may send');
  tenant
    .command('set')
    .description('make or change a tenant; what is not named stays as it is')
    .argument('<tenant>', 'whose messages', someText)
    .option('--region <country>', 'by whose rules numbers without a country code are read', region)
    .option('--classes <list>', 'what it may send, e.g. otp,transactional; all: everything', classes)
    .option('--weight <n>', 'its share of a lane beside other tenants', wholeBetween(1, 1_000))
    .requiredOption('--by <name>', 'who sets it; kept', someText)
    .requiredOption('--why <text>', 'why; kept', someText)
    .addHelpText(
      'after',
      `
A tenant that was never set may send every class. Classes are judged at enqueue: what waits already is sent.

Examples:
  sendledger tenant set bank --region IN --classes otp,transactional --by meera --why "no consent for promotions"
  sendledger tenant set shop --classes all --weight 3 --by meera --why "ticket 4711"`,
    )
    .action(async (id: string, options: SetOptions) => {
      const settings = settingsOf(options);
      if (Object.keys(settings).length === 0)
        throw new CliFailure('Nothing to set: name --region, --classes or --weight.');
      await withDatabase(readSettings().databaseUrl, (pool) =>
        durably(pool, (sql) => setTenant(sql, id, settings, { who: options.by, why: options.why })),
      );
      data(`tenant ${id} set`);
    });
  tenant
    .command('list')
    .description('show the tenants that were set')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const tenants = await withDatabase(readSettings().databaseUrl, listTenants);
      if (options.json === true) json(tenants);
      else if (tenants.length === 0)
        talk('No tenant was set yet; each may send every class: sendledger tenant set --help');
      else
        data(
          table(
            ['TENANT', 'REGION', 'CLASSES', 'WEIGHT'],
            tenants.map((t) => [t.id, t.region ?? '', t.classes === null ? 'all' : t.classes.join(','), `${t.weight}`]),
          ),
        );
    });
}

function classes(text: string): readonly MessageClass[] | 'all' {
  if (text === 'all') return text;
  const named = text.split(',').map((name) => MESSAGE_CLASSES.find((one) => one === name.trim()));
  const known = named.filter((one) => one !== undefined);
  if (known.length < named.length)
    throw new InvalidArgumentError(`Give some of ${MESSAGE_CLASSES.join(', ')} with commas between them, or all.`);
  return [...new Set(known)];
}

function settingsOf(options: SetOptions): TenantSettings {
  return {
    ...(options.region === undefined ? {} : { region: options.region }),
    ...(options.classes === undefined ? {} : { classes: options.classes }),
    ...(options.weight === undefined ? {} : { weight: options.weight }),
  };
}
