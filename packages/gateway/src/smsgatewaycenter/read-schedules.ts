import { cleanEpoch } from '../normalise/clean-epoch.ts';
import { cleanId } from '../normalise/clean-id.ts';
import { cleanText } from '../normalise/clean-text.ts';
import { asList, asObject, type JsonObject, type JsonValue } from '../normalise/parse-json.ts';
import { readCount } from '../normalise/read-count.ts';
import type { HeldSchedule, SchedulesAnswer } from '../schedules-answer.ts';
import type { TransportReply } from '../transport.ts';
import { unavailable } from './call-provider.ts';
import { readSuccess } from './read-success.ts';
import { LONGEST_WORD } from './report-record.ts';
import { type ScheduleWords, scheduleStateOf } from './schedule-words.ts';

/**
 * Reads the list of what the provider holds. Its name is not documented, so the first array counts. A list shorter than
 * the reply declares is no answer: whoever asks wants to know what is not in it.
 */
export function readSchedules(received: TransportReply, extraWords: ScheduleWords): SchedulesAnswer {
  const read = readSuccess(received);
  if (read.kind === 'unavailable') return read;
  const elements = listOf(read.response);
  if (elements === null) return unavailable('a success without a list');
  const { count } = read.response;
  if (count !== undefined && count !== null && readCount(count) !== elements.length)
    return unavailable('the list has another length than the reply declares');
  const schedules = elements
    .map((element) => heldSchedule(element, extraWords))
    .filter((schedule) => schedule !== null);
  return { kind: 'schedules', schedules, unreadableRows: elements.length - schedules.length };
}

function listOf(response: JsonObject): readonly JsonValue[] | null {
  for (const value of Object.values(response)) {
    const list = asList(value);
    if (list !== null) return list;
  }
  // An empty string is how some servers write an empty list.
  return Object.entries(response).some(([name, value]) => /list$/i.test(name) && value === '') ? [] : null;
}

const ID_NAMES = ['uuId', 'uuid', 'transactionId'] as const;

function idOf(row: JsonObject): string | null {
  for (const name of ID_NAMES) {
    const id = cleanId(row[name]);
    if (id !== null) return id;
  }
  return null;
}

function heldSchedule(element: JsonValue, extraWords: ScheduleWords): HeldSchedule | null {
  const row = unwrap(element);
  const providerTxnId = row === null ? null : idOf(row);
  if (row === null || providerTxnId === null) return null;
  const statusWord = cleanText(row.status, LONGEST_WORD);
  return {
    providerTxnId,
    scheduledFor: cleanEpoch(row.scheduledTimestamp),
    createdAt: cleanEpoch(row.timestamp),
    updatedAt: cleanEpoch(row.lastupdatedTimestamp),
    statusWord,
    state: scheduleStateOf(statusWord, extraWords),
    total: readCount(row.total),
  };
}

/** `{schedule: {…}}`, whatever the name, or the row itself. */
function unwrap(element: JsonValue): JsonObject | null {
  const object = asObject(element);
  if (object === null || idOf(object) !== null) return object;
  const [inner, ...others] = Object.values(object);
  return others.length === 0 ? asObject(inner) : null;
}
