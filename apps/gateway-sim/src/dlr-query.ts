import { badParameter, type ProviderError } from './error-codes.ts';
import { canonicalMobile } from './mobile-numbers.ts';
import type { ProviderClock } from './provider-clock.ts';
import type { Parameters } from './request-parameters.ts';

const MOST_ROWS = 5_000;

/** Where a page begins: a message, counted from 0, and which of its rows. */
export interface DlrPlace {
  message: number;
  row: number;
}

/** What one call of `getDlr` asks for. */
export interface DlrQuery {
  /** First instant of the days asked for, and the one after the last. */
  from: number;
  until: number;
  limit: number;
  /** With country code; null: all numbers. */
  mobile: string | null;
  start: DlrPlace;
}

/** Reads the parameters of `getDlr`; days are days of the provider's clock, both included. */
export function readDlrQuery(parameters: Parameters, clock: ProviderClock): DlrQuery | ProviderError {
  const from = clock.readDay(parameters.fromdate ?? '');
  if (from === null) return badParameter('fromdate must be YYYY-MM-DD');
  const to = clock.readDay(parameters.todate ?? '');
  if (to === null || to.start < from.start) return badParameter('todate must be YYYY-MM-DD, not before fromdate');
  const limit = /^\d{1,4}$/.test(parameters.pageLimit ?? '') ? Number(parameters.pageLimit) : 0;
  if (limit < 1 || limit > MOST_ROWS) return badParameter(`pageLimit must be 1 to ${MOST_ROWS}`);
  const mobile = parameters.mobileNo === undefined ? null : canonicalMobile(parameters.mobileNo);
  if (mobile === null && parameters.mobileNo !== undefined) return badParameter('mobileNo cannot be a number');
  const start = parameters.startCursor === undefined ? { message: 0, row: 0 } : readCursor(parameters.startCursor);
  if (start === null) return badParameter('startCursor is none of ours');
  return { from: from.start, until: to.end, limit, mobile, start };
}

/** A text of no meaning to a client. */
export function writeCursor({ message, row }: DlrPlace): string {
  return Buffer.from(`${message}.${row}`).toString('base64url');
}

function readCursor(text: string): DlrPlace | null {
  const match = /^(\d{1,15})\.([01])$/.exec(Buffer.from(text, 'base64url').toString());
  return match === null ? null : { message: Number(match[1]), row: Number(match[2]) };
}
