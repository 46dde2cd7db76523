import { IANAZone } from 'luxon';
import type { DaysAnswer, DaysQuestion } from '../days-answer.ts';
import { isDay } from '../normalise/is-day.ts';
import type { ProviderRecord } from '../report-answer.ts';
import type { Transport } from '../transport.ts';
import { callForm } from './call-form.ts';
import { callProvider, type Unavailable, unavailable } from './call-provider.ts';
import type { Settings } from './options.ts';
import { type DaysPage, readDaysPage } from './read-days-page.ts';
import { readingOf } from './report-record.ts';

/**
 * Reads the report by days. How it is paged is not documented, so the read is `complete` only if nothing speaks against
 * it: every row was readable, every page held as many rows as it declared, no cursor and no page came twice, and the last
 * page, the one without a cursor, was shorter than a page may be. A full page without a cursor is cut off as likely as
 * not.
 */
export async function reportByDays(
  transport: Transport,
  settings: Settings,
  question: DaysQuestion,
  onPage: (records: readonly ProviderRecord[]) => void,
  signal: AbortSignal | undefined,
): Promise<DaysAnswer> {
  const wrong = faultOf(question);
  if (wrong !== null) return unavailable(wrong);
  const cursors = new Set<string>();
  const fingerprints = new Set<string>();
  const read = { pages: 0, records: 0, unreadableRows: 0 };
  let because: string | null = null;
  let cursor: string | null = null;
  for (;;) {
    const page = await pageAt(transport, settings, question, cursor, signal);
    if (page.kind === 'unavailable') return page;
    read.pages += 1;
    read.records += page.records.length;
    read.unreadableRows += page.unreadableRows;
    onPage(page.records);
    because ??= page.fault;
    if (page.fingerprint !== null && fingerprints.has(page.fingerprint))
      return ended(read, because ?? 'a page came twice');
    if (page.fingerprint !== null) fingerprints.add(page.fingerprint);
    if (page.nextCursor === null) {
      const full = page.rowCount >= settings.reportPageLimit ? 'the last page is full and names no next one' : null;
      return ended(read, because ?? full);
    }
    if (cursors.has(page.nextCursor)) return ended(read, because ?? 'a cursor came twice');
    cursors.add(page.nextCursor);
    if (read.pages >= settings.reportMaxPages) return ended(read, because ?? `more than ${read.pages} pages`);
    cursor = page.nextCursor;
  }
}

function ended(
  read: { readonly pages: number; readonly records: number; readonly unreadableRows: number },
  because: string | null,
): DaysAnswer {
  return { kind: 'read', ...read, complete: because === null, incompleteBecause: because };
}

function pageAt(
  transport: Transport,
  settings: Settings,
  question: DaysQuestion,
  cursor: string | null,
  signal: AbortSignal | undefined,
): Promise<DaysPage | Unavailable> {
  const call = { path: settings.reportPath, form: formOf(settings, question, cursor), signal };
  const reading = readingOf(settings, question.zone);
  return callProvider(transport, settings, call, (received) => readDaysPage(received, reading));
}

function formOf(settings: Settings, question: DaysQuestion, cursor: string | null): URLSearchParams {
  const form = callForm(settings);
  form.set('method', 'getDlr');
  form.set('fromdate', question.fromDay);
  form.set('todate', question.toDay);
  form.set('pageLimit', String(settings.reportPageLimit));
  if (question.recipient !== null) form.set('mobileNo', question.recipient);
  if (cursor !== null) form.set('startCursor', cursor);
  return form;
}

/** A question that would be answered by something else than was meant. */
function faultOf(question: DaysQuestion): string | null {
  if (!isDay(question.fromDay) || !isDay(question.toDay)) return 'a day is not YYYY-MM-DD';
  if (question.fromDay > question.toDay) return 'the days end before they begin';
  if (question.recipient !== null && !/^[1-9]\d{6,14}$/.test(question.recipient))
    return 'the recipient is not E.164 digits without plus';
  return IANAZone.isValidZone(question.zone) ? null : 'the zone is not an IANA zone';
}
