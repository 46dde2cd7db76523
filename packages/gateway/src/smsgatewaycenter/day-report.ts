import type { FileHandle } from 'node:fs/promises';
import { IANAZone } from 'luxon';
import { classifyFailure } from '../classify-failure.ts';
import type { DayAnswer, DayQuestion, DayReader } from '../day-report.ts';
import { isDay } from '../normalise/is-day.ts';
import { retryAfterMs } from '../retry-after.ts';
import type { Downloaded, DownloadRequest, Transport } from '../transport.ts';
import { BadArchive, withArchive } from '../zip/archive.ts';
import { withPrivateFile } from '../zip/private-file.ts';
import { callForm, callHeaders } from './call-form.ts';
import { unavailable } from './call-provider.ts';
import { judgeDayAnswer } from './judge-day-answer.ts';
import type { Settings } from './options.ts';
import { readDayRows } from './read-day-rows.ts';
import { readingOf } from './report-record.ts';

const DAY_PATH = '/SMSApi/report/day';
/** An answer that is no archive is a few hundred bytes; more of one is not looked at. */
const LONGEST_WORDS_BYTES = 64 * 1024;
/** The two ways in which an archive begins: with a file, or with the directory of an empty one. */
const BEGINNINGS: ReadonlySet<number> = new Set([0x04034b50, 0x06054b50]);

/** What the caller's own reader threw, on its way out. */
class FromReader extends Error {
  override readonly name = 'FromReader';
}

/**
 * Reads the report of one day: one call, and one more where its answer is a link. The archive goes to a file without a name, is checked
 * whole, and then its rows are handed over as they are unpacked; neither of them is ever in memory.
 */
export async function dayReport(
  transport: Transport,
  settings: Settings,
  question: DayQuestion,
  reader: DayReader,
  signal: AbortSignal | undefined,
): Promise<DayAnswer> {
  if (!isDay(question.day)) return unavailable('the day is not YYYY-MM-DD');
  if (!IANAZone.isValidZone(question.zone)) return unavailable('the zone is not an IANA zone');
  try {
    return await withPrivateFile(async (file) => {
      const form = callForm(settings);
      form.set('date', question.day);
      const call = { url: new URL(`${settings.baseUrl}${DAY_PATH}`), form };
      const fetched = await fetchInto(file, transport, settings, call, signal);
      if (fetched.kind !== 'downloaded') return fetched;
      const archive = (await isArchive(file)) ? fetched : await follow(file, fetched, transport, settings, signal);
      if (archive.kind !== 'downloaded') return archive;
      await fromReader(async () => reader.onFetched(archive.bytes));
      return readArchive(file, archive.bytes, settings, question, reader);
    });
  } catch (error) {
    if (error instanceof FromReader) throw error.cause;
    if (error instanceof BadArchive) return { kind: 'unreadable', detail: error.message };
    // No room for the file, or an answer that breaks our reading of it.
    return unavailable(`our own fault while reading (${codeOf(error)})`);
  }
}

async function readArchive(
  file: FileHandle,
  bytes: number,
  settings: Settings,
  question: DayQuestion,
  reader: DayReader,
): Promise<DayAnswer> {
  return withArchive(file, bytes, settings.dayReport, async (archive) => {
    const reading = readingOf(settings, question.zone);
    const read = await readDayRows(archive, reading, settings.dayReport.maxRowCharacters, (rows) =>
      fromReader(() => reader.onRows(rows)),
    );
    if (archive.files.length > 0 && read.readable === 0 && archive.unpackedBytes > 0)
      return { kind: 'unreadable', detail: 'no file in it has a header that we know' };
    const { rows, records, badRows } = read;
    const { unpackedBytes } = archive;
    return {
      kind: 'read',
      ...{ rows, records, badRows, bytes, unpackedBytes },
      unmappedColumns: [...read.unmappedColumns].slice(0, 32),
    };
  });
}

/** The answer is words. They refuse, or they say where the archive lies, and it is fetched from there. */
async function follow(
  file: FileHandle,
  words: Downloaded,
  transport: Transport,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<Downloaded | Exclude<DayAnswer, { kind: 'read' }>> {
  if (words.bytes > LONGEST_WORDS_BYTES) return { kind: 'unreadable', detail: 'it is not a zip, and long' };
  const { buffer } = await file.read(Buffer.alloc(words.bytes), 0, words.bytes, 0);
  const verdict = judgeDayAnswer(buffer.toString('utf8'), settings.baseUrl, settings.extraCodes);
  if (verdict.kind !== 'link') return verdict;
  await file.truncate();
  // The password went with the question; a link carries what it needs.
  const fetched = await fetchInto(file, transport, settings, { url: verdict.url, form: null }, signal);
  if (fetched.kind === 'downloaded' && !(await isArchive(file)))
    return { kind: 'unreadable', detail: 'what lies at the link is not a zip' };
  return fetched;
}

async function fetchInto(
  file: FileHandle,
  transport: Transport,
  settings: Settings,
  call: Pick<DownloadRequest, 'url' | 'form'>,
  signal: AbortSignal | undefined,
): Promise<Downloaded | Exclude<DayAnswer, { kind: 'read' }>> {
  const { maxBytes } = settings.dayReport;
  const headers = { ...callHeaders(settings), accept: 'application/zip, application/json' };
  const result = await transport.download(
    { ...call, headers, maxBytes, ...(signal === undefined ? {} : { signal }) },
    file,
  );
  if (result.kind === 'failure')
    return result.code === 'REPLY_TOO_LARGE'
      ? { kind: 'unreadable', detail: `the answer is longer than ${maxBytes} bytes` }
      : unavailable(classifyFailure(result).detail);
  const after = retryAfterMs(result.headers['retry-after'], result.headers.date, Date.now());
  if (result.status === 429 || (result.status === 503 && after !== null))
    return { kind: 'not_yet', retryAfterMs: after, detail: `HTTP ${result.status}` };
  return result.status >= 200 && result.status <= 299 ? result : unavailable(`HTTP ${result.status}`);
}

async function isArchive(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
  return bytesRead === 4 && BEGINNINGS.has(buffer.readUInt32LE(0));
}

async function fromReader(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new FromReader('', { cause });
  }
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'no error code';
}
