import { parseArgs } from 'node:util';
import { IANAZone } from 'luxon';
import { z } from 'zod';
import { parseFaultShares } from './fault-names.ts';
import { parseAmount } from './money.ts';
import { DEFAULT_OPTIONS, type GatewaySimOptions, type Span } from './options.ts';
import { httpUrl } from './push-receipt.ts';

/** Every fault of the configuration at once, a line each. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

// Each setting is read from the flag --some-name, else from GATEWAY_SIM_SOME_NAME, else has the default of options.ts.
const settings = {
  port: z.string().regex(/^\d+$/, 'a TCP port, 0 for a free one').transform(Number).pipe(z.number().max(65_535)),
  host: z.string().min(1),
  userid: z.string().min(1),
  password: z.string().min(1),
  apiKey: z.string().min(1),
  pricePerSegment: read(decimal),
  currency: z.string().regex(/^[A-Z]{3}$/, 'three capital letters'),
  balance: read(decimal),
  seed: wholeNumber(),
  faults: read(parseFaultShares),
  invalidMobile: read((text) => new RegExp(text)),
  invalidMobileForm: z.enum(['sent', 'canonical']),
  deliveryMs: read(span),
  failShare: read(share),
  failMobile: read((text) => new RegExp(text)),
  failCauses: read((text) => text.split(',').map((cause) => cause.trim())),
  visibilityLagMs: milliseconds(),
  retentionDays: wholeNumber(),
  zone: z.string().refine((name) => IANAZone.isValidZone(name), 'an IANA zone such as Asia/Kolkata'),
  clockSkewMs: z
    .string()
    .regex(/^-?\d+$/, 'milliseconds, negative when behind')
    .transform(Number),
  dlrTxnIds: flag(),
  dlrTimes: z.enum(['text', 'epoch-ms', 'epoch-s', 'long-text']),
  refundCancelled: flag(),
  forgetDeleted: flag(),
  latencyMs: read(span),
  truncateBytes: wholeNumber(),
  slowMs: milliseconds(),
  pushUrl: read(httpUrl),
  pushFields: z.enum(['portal', 'legacy']),
  pushRate: wholeNumber().pipe(z.number().min(1)),
  pushRetryMs: milliseconds(),
  pushTries: wholeNumber().pipe(z.number().min(1)),
  pushLose: read(share),
  pushDuplicate: read(share),
  pushShuffleMs: milliseconds(),
  jsonAsHtml: flag(),
  unquotedIds: flag(),
  unquotedCodes: flag(),
  sendExtras: flag(),
  listKey: z.enum(['report_statusList', 'reports_statusList']),
  keepTexts: wholeNumber(),
} satisfies Partial<Record<keyof GatewaySimOptions, z.ZodType>>;

const schema = z.object(settings).partial();
const SWITCHES = [
  'jsonAsHtml',
  'unquotedIds',
  'unquotedCodes',
  'sendExtras',
  'dlrTxnIds',
  'refundCancelled',
  'forgetDeleted',
];
const DEFAULT_PORT = 8600;

/**
 * Reads the settings of the command line and the environment.
 * @throws ConfigurationError with every fault at once, named by flag and variable.
 */
export function readConfiguration(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): GatewaySimOptions {
  const names = Object.keys(settings);
  const unknown = Object.keys(environment).filter(
    (variable) => variable.startsWith('GATEWAY_SIM_') && !names.some((name) => variableOf(name) === variable),
  );
  const flags = readFlags(args, names);
  const raw: Record<string, string> = {};
  for (const name of names) {
    const value = flags[flagOf(name)] ?? environment[variableOf(name)];
    if (value !== undefined && value !== '') raw[name] = value;
  }
  const parsed = schema.safeParse(raw);
  const faults = parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => {
        const name = String(path[0]);
        return `${variableOf(name)} (--${flagOf(name)}): ${message}`;
      });
  faults.push(...unknown.map((variable) => `${variable}: no such setting`));
  if (!parsed.success || faults.length > 0) throw new ConfigurationError(faults.join('\n'));
  const given = Object.fromEntries(Object.entries(parsed.data).filter(([, value]) => value !== undefined));
  return { ...DEFAULT_OPTIONS, port: DEFAULT_PORT, ...given };
}

function readFlags(args: readonly string[], names: readonly string[]): Record<string, string | undefined> {
  // A switch may stand alone: --unquoted-ids is --unquoted-ids=true.
  const written = args.map((argument) =>
    SWITCHES.some((name) => argument === `--${flagOf(name)}`) ? `${argument}=true` : argument,
  );
  try {
    const options = Object.fromEntries(names.map((name) => [flagOf(name), { type: 'string' as const }]));
    return parseArgs({ args: written, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new ConfigurationError(error instanceof Error ? error.message : String(error));
  }
}

function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}

function variableOf(name: string): string {
  return `GATEWAY_SIM_${name.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase()}`;
}

function wholeNumber() {
  return z.string().regex(/^\d+$/, 'a whole number').transform(Number);
}

function milliseconds() {
  return z.string().regex(/^\d+$/, 'milliseconds').transform(Number);
}

function flag() {
  return z.enum(['true', 'false']).transform((text) => text === 'true');
}

/** A schema from a function that answers the value or throws what is wrong. */
function read<T>(parse: (text: string) => T) {
  return z.string().transform((text, context): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  });
}

function decimal(text: string): string {
  parseAmount(text);
  return text;
}

function share(text: string): number {
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= 0 && value <= 1)) throw new RangeError('a share from 0 to 1');
  return value;
}

/** `250` or `100..500`, milliseconds. */
function span(text: string): Span {
  const match = /^(\d+)(?:\.\.(\d+))?$/.exec(text);
  const min = Number(match?.[1]);
  const max = Number(match?.[2] ?? match?.[1]);
  if (match === null || max < min) throw new RangeError('milliseconds, as 250 or 100..500');
  return { min, max };
}
