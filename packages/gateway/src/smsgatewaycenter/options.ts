import { SendledgerError } from '@sendledger/core';
import { IANAZone } from 'luxon';
import { z } from 'zod';
import { type DayReportLimits, DEFAULT_DAY_REPORT_LIMITS } from '../day-report.ts';
import { DEFAULT_TIMEOUTS, type TransportTimeouts } from '../got-transport.ts';
import { DEFAULT_ZONE } from '../normalise/clean-time.ts';
import { REFUSAL_SCOPES } from '../outcome.ts';
import { DEFAULT_SEND_BUDGET_MS } from '../send-budget.ts';
import type { Transport } from '../transport.ts';
import { type ExtraCodes, SUCCESS_CODE } from './codes.ts';
import { type ExtraScheduleWords, SCHEDULE_READINGS, scheduleWordsOf } from './schedule-words.ts';
import { type ExtraStatusWords, plain, READINGS, statusWordsOf } from './vocabulary.ts';

export interface SmsGatewayCenterOptions {
  /** E.g. `https://unify.smsgateway.center`; no credentials, query or fragment in it. */
  readonly baseUrl: string;
  readonly userid: string;
  /** At least one of password and key; what is given is sent. The key goes into a header. */
  readonly password?: string | undefined;
  readonly apiKey?: string | undefined;
  /** IANA zone of the provider's local times. Default Asia/Kolkata; the provider does not state it. */
  readonly zone?: string | undefined;
  /** The vendor's pages disagree on singular and plural. Default `/SMSApi/report/status`. */
  readonly reportPath?: string | undefined;
  /** Country code of a number that comes back without one. Default 91. */
  readonly countryCode?: string | undefined;
  /** Default 500, at most 1000: the vendor recommends no more, and publishes no ceiling. */
  readonly maxRecipients?: number | undefined;
  /** The send budget that callers will use, ms; the first three time-outs together must stay below it. */
  readonly sendBudgetMs?: number | undefined;
  /** Of sends, ms. Below 45 s for the answer, which is what the vendor's own client waits, unknowns are manufactured. */
  readonly timeouts?: TransportTimeouts | undefined;
  /**
   * Whether sends may reuse a connection. Default false: one that the provider closes just then turns a request that nobody
   * read into an unknown. Reads reuse theirs.
   */
  readonly keepAlive?: boolean | undefined;
  /** Refusal codes mapped since the table was written. */
  readonly extraCodes?: ExtraCodes | undefined;
  /** Status words and causes of reports and pushes mapped since the tables were written. */
  readonly extraStatusWords?: ExtraStatusWords | undefined;
  /** Status words of schedules. None is documented, so that all we know are guesses; what is given here comes before them. */
  readonly extraScheduleWords?: ExtraScheduleWords | undefined;
  /** Rows asked for in one page of the report by days. Default 1000; 500 to 5000 were seen. */
  readonly reportPageLimit?: number | undefined;
  /** Pages after which a read of the report by days ends as incomplete. Default 2000. */
  readonly reportMaxPages?: number | undefined;
  /** What a day report may be at most; what is left out has its default. */
  readonly dayReport?: Partial<DayReportLimits> | undefined;
  /** Certificate authorities to trust instead of the built-in ones, PEM. */
  readonly ca?: string | undefined;
  /** Another HTTP client, or a test's; used for sends and reads. Time-outs are then its own affair. */
  readonly transport?: Transport | undefined;
}

const credential = z
  .string()
  .min(1, 'is empty')
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without blanks');

const word = z.string().refine((text) => plain(text) !== '', 'is blank');

const milliseconds = z.number().int().positive();

const atLeastOne = z.number().int().positive();

/** A limit that is named and undefined is one that is left out. */
function withoutGaps(limits: Partial<Record<keyof DayReportLimits, number | undefined>>): Partial<DayReportLimits> {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

const timeouts = z
  .object({
    lookup: milliseconds,
    connect: milliseconds,
    secureConnect: milliseconds,
    response: milliseconds,
    request: milliseconds,
  })
  .refine((t) => t.request > t.response, { message: 'request must be longer than response' });

const schema = z
  .object({
    baseUrl: z
      .url({ protocol: /^https?$/ })
      .refine((text) => {
        const url = URL.parse(text);
        return url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
      }, 'must not carry credentials, a query or a fragment')
      .transform((text) => text.replace(/\/+$/, '')),
    userid: credential,
    password: credential.optional(),
    apiKey: credential.optional(),
    zone: z
      .string()
      .refine((zone) => IANAZone.isValidZone(zone), 'is not an IANA zone')
      .default(DEFAULT_ZONE),
    reportPath: z
      .string()
      .regex(/^\/[\w/.-]+$/, 'must be an absolute path')
      .default('/SMSApi/report/status'),
    countryCode: z
      .string()
      .regex(/^[1-9]\d{0,2}$/, 'must be 1 to 3 digits')
      .default('91'),
    maxRecipients: z.number().int().min(1).max(1000).default(500),
    sendBudgetMs: milliseconds.default(DEFAULT_SEND_BUDGET_MS),
    timeouts: timeouts.default(DEFAULT_TIMEOUTS),
    keepAlive: z.boolean().default(false),
    extraCodes: z
      .record(z.string().min(1), z.enum(REFUSAL_SCOPES))
      .refine((codes) => !Object.hasOwn(codes, SUCCESS_CODE), 'must not map the code of success')
      .default({}),
    extraStatusWords: z.record(word, z.enum(READINGS)).default({}).transform(statusWordsOf),
    extraScheduleWords: z.record(word, z.enum(SCHEDULE_READINGS)).default({}).transform(scheduleWordsOf),
    reportPageLimit: z.number().int().min(1).max(10_000).default(1_000),
    reportMaxPages: z.number().int().min(1).max(1_000_000).default(2_000),
    dayReport: z
      .object({
        maxBytes: atLeastOne,
        maxUnpackedBytes: atLeastOne,
        maxRatio: atLeastOne,
        maxFiles: atLeastOne,
        maxRowCharacters: atLeastOne,
      })
      .partial()
      .default({})
      .transform((limits): DayReportLimits => ({ ...DEFAULT_DAY_REPORT_LIMITS, ...withoutGaps(limits) })),
    ca: z.string().optional(),
  })
  .refine((o) => o.password !== undefined || o.apiKey !== undefined, { message: 'needs password or apiKey' })
  .refine((o) => o.timeouts.lookup + o.timeouts.connect + o.timeouts.secureConnect < o.sendBudgetMs, {
    message: 'timeouts lookup, connect and secureConnect together must stay below sendBudgetMs',
  });

export type Settings = z.output<typeof schema>;

/**
 * Checks the options and fills in the defaults. Throws `SENDLEDGER_CONFIG` with all faults at once: names and reasons,
 * never values.
 */
export function settingsOf(options: SmsGatewayCenterOptions): Settings {
  const { transport: _transport, ...rest } = options;
  const parsed = schema.safeParse(rest);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'smsgatewaycenter'}: ${issue.message}`);
  throw new SendledgerError('SENDLEDGER_CONFIG', `${faults.join('; ')}.`);
}
