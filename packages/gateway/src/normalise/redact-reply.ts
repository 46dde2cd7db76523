import { Buffer } from 'node:buffer';
import { RAW_REPLY_LIMIT_BYTES } from '../outcome.ts';
import { isPrivateName } from './private-names.ts';

/** What may not survive in anything that is stored. */
export interface Secrets {
  /** Values of user id, password and key. */
  readonly credentials: readonly string[];
  /** Message texts. */
  readonly texts: readonly string[];
}

const MARK = '[redacted]';
/** A run of this many characters of a message's text counts as a piece of it. */
const WINDOW = 8;
/** More of a reply than this is not looked at: redaction comes before the cut, and is not free. */
const EXAMINED_CHARACTERS = 4 * RAW_REPLY_LIMIT_BYTES;

/** A reply as it may be stored: UTF-8, redacted first, then cut to `limitBytes`. */
export function redactReply(
  body: Uint8Array,
  secrets: Secrets,
  limitBytes: number = RAW_REPLY_LIMIT_BYTES,
): Uint8Array {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return Buffer.from(redactText(text.slice(0, EXAMINED_CHARACTERS), secrets), 'utf8').subarray(0, limitBytes);
}

/**
 * Takes out, in this order: values of fields whose name says text or credential (JSON even if cut off, form, XML);
 * credentials; every piece of a message's text, also url-, JSON- or HTML-escaped, since error pages echo requests; and
 * the tokens with a digit in a text, since a code is one. The bytes around them stay as they came.
 */
export function redactText(text: string, secrets: Secrets): string {
  let out = redactFields(text);
  for (const credential of secrets.credentials) {
    for (const form of escapedForms(credential)) out = replaceToken(out, form);
  }
  for (const body of secrets.texts) {
    out = replacePieces(out, escapedForms(body));
    for (const token of body.match(/[\p{L}\p{N}]*\p{N}[\p{L}\p{N}]*/gu) ?? []) {
      if (token.length >= 4) out = replaceToken(out, token);
    }
  }
  // A piece may begin or end inside a surrogate pair.
  return out.toWellFormed();
}

// A value is a string (perhaps cut off), a list of strings, or a bare word.
const JSON_FIELD = /"([^"\\]{1,64})"(\s*:\s*)("(?:\\.|[^"\\])*"?|\[(?:\s*"(?:\\.|[^"\\])*"?\s*,?)+\]?|[^\s,[\]{}"]+)/g;
const FORM_FIELD = /(?<![\w"])([A-Za-z_]{2,40})=([^&\s"'<>]+)/g;
const XML_FIELD = /<([A-Za-z_]{2,40})>([^<]+)/g;

function redactFields(text: string): string {
  return text
    .replace(JSON_FIELD, (whole, name: string, colon: string, value: string) => {
      // The nested envelope uses `msg` for its own verdict.
      if (!isPrivateName(name) || /^"(success|error)"$/i.test(value)) return whole;
      return `"${name}"${colon}"${MARK}"`;
    })
    .replace(FORM_FIELD, (whole, name: string) => (isPrivateName(name) ? `${name}=${MARK}` : whole))
    .replace(XML_FIELD, (whole, name: string) => (isPrivateName(name) ? `<${name}>${MARK}` : whole));
}

const WORD = /[\p{L}\p{N}]/u;

/**
 * Replaces a value where it does not continue as a longer word: a short user id is not cut out of other words. By hand, since
 * a regular expression made anew for each token would be the dearest part of a send.
 */
function replaceToken(text: string, token: string): string {
  if (token === '') return text;
  let out = '';
  let from = 0;
  for (let at = text.indexOf(token); at !== -1; at = text.indexOf(token, at + 1)) {
    if (at < from) continue;
    const end = at + token.length;
    if (continuesBefore(text, at) || continuesAfter(text, end)) continue;
    out += text.slice(from, at) + MARK;
    from = end;
  }
  return from === 0 ? text : out + text.slice(from);
}

function continuesBefore(text: string, at: number): boolean {
  const unit = text.charCodeAt(at - 1);
  const start = unit >= 0xdc00 && unit <= 0xdfff ? at - 2 : at - 1;
  return start >= 0 && WORD.test(text.slice(start, at));
}

function continuesAfter(text: string, end: number): boolean {
  const point = text.codePointAt(end);
  return point !== undefined && WORD.test(String.fromCodePoint(point));
}

function replacePieces(text: string, forms: readonly string[]): string {
  const windows = new Set<string>();
  const size = Math.min(WINDOW, ...forms.map((form) => form.length));
  if (size < 2) return text;
  for (const form of forms) {
    for (let at = 0; at + size <= form.length; at++) windows.add(form.slice(at, at + size));
  }
  let out = '';
  // End of the last piece; pieces that touch become one mark.
  let end = 0;
  let found = false;
  for (let at = 0; at + size <= text.length; at++) {
    if (!windows.has(text.slice(at, at + size))) continue;
    if (!found || at > end) out += text.slice(end, at) + MARK;
    found = true;
    end = at + size;
  }
  return out + text.slice(end);
}

function escapedForms(value: string): readonly string[] {
  if (value === '') return [];
  const wellFormed = value.toWellFormed();
  const json = JSON.stringify(wellFormed).slice(1, -1);
  return [
    ...new Set([
      wellFormed,
      encodeURIComponent(wellFormed),
      new URLSearchParams({ v: wellFormed }).toString().slice(2),
      json,
      // PHP escapes slashes and everything beyond ASCII.
      json.replaceAll('/', '\\/').replace(/[^\p{ASCII}]/gu, (character) =>
        [...character]
          .flatMap((c) => Array.from({ length: c.length }, (_, i) => c.charCodeAt(i)))
          .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
          .join(''),
      ),
      wellFormed
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#039;'),
    ]),
  ];
}
