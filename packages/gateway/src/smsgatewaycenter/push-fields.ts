import { cleanText } from '../normalise/clean-text.ts';
import type { JsonObject } from '../normalise/parse-json.ts';

/**
 * Names of a push's fields, lower case, in the order of preference. The push is not documented: these are the ones of the
 * portal, whose names an account may edit, and of a relative's page. Case is folded, since nobody knows it.
 */
const PUSH_FIELDS = {
  transactionId: ['transactionid', 'transid', 'uuid'],
  messageId: ['messageid', 'msgid'],
  mobile: ['mobilenumber', 'mobileno', 'mobile'],
  sender: ['sendername', 'senderid'],
  status: ['status', 'dlrstatus', 'deliverystatus'],
  cause: ['cause', 'reason'],
  errorCode: ['errorcode'],
  submitted: ['receivedtime', 'submittime'],
  delivered: ['deliveredtime', 'dlrtime', 'deliverytime'],
} as const satisfies Record<string, readonly string[]>;

type PushField = keyof typeof PUSH_FIELDS;

const KNOWN: ReadonlySet<string> = new Set(Object.values(PUSH_FIELDS).flat());

/** Whether a field of a push, in any case, is one of those above. */
export function isPushField(name: string): boolean {
  return KNOWN.has(name.toLowerCase());
}

/** A push's fields under lower-case names; of a name that comes twice, the first that is not empty. */
export type PushFields = ReadonlyMap<string, string>;

const MOST_FIELDS = 64;

/** Takes up what is text; nested values are no field of a push. */
export function pushFields(row: JsonObject): PushFields {
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(row).slice(0, MOST_FIELDS)) {
    const key = name.toLowerCase();
    if (typeof value === 'string' && KNOWN.has(key) && (fields.get(key) ?? '').trim() === '') fields.set(key, value);
  }
  return fields;
}

/** The first of a field's spellings that holds text; null if none does. */
export function pushField(fields: PushFields, field: PushField): string | null {
  for (const name of PUSH_FIELDS[field]) {
    const value = cleanText(fields.get(name), 500);
    if (value !== null) return value;
  }
  return null;
}

/** Whether a field is there at all, perhaps empty. */
export function hasPushField(fields: PushFields, field: PushField): boolean {
  return PUSH_FIELDS[field].some((name) => fields.has(name));
}
