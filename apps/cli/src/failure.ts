import { SendledgerError } from '@sendledger/core';

/** Something a person can put right, in one line. */
export class CliFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CliFailure';
  }
}

/** Node's and libpq's codes for "nobody there", and Postgres' for "not now". */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EPIPE',
  'EACCES',
  '53300',
  '57P01',
  '57P02',
  '57P03',
]);

/** Schema, table, column or function that is not there. */
const NOT_MIGRATED = new Set(['3F000', '42P01', '42703', '42883', '42704']);

/** The `pg` driver gives these no code. */
const LOST = /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered)/;

/**
 * An error of the database as a person should read it; anything else passes as it came.
 */
export function databaseFailure(error: unknown): unknown {
  if (error instanceof SendledgerError || error instanceof CliFailure || !(error instanceof Error)) return error;
  const code = codeOf(error);
  if ((code !== undefined && UNREACHABLE.has(code)) || LOST.test(error.message))
    return new SendledgerError('SENDLEDGER_DATABASE_UNREACHABLE', `(${oneLine(error.message) || code})`, {
      cause: error,
    });
  // Login and database name: somebody answered.
  if (code !== undefined && /^(28|3D)/.test(code))
    return new SendledgerError('SENDLEDGER_DATABASE_REFUSED', `(${oneLine(error.message)})`, { cause: error });
  if (code !== undefined && NOT_MIGRATED.has(code))
    return new SendledgerError('SENDLEDGER_MIGRATION_MISSING', '', { cause: error });
  if (code === '42501')
    return new CliFailure(
      `The role of DATABASE_URL may not do this (${oneLine(error.message)}). Connect as sendledger_cli, or as the one that migrates.`,
    );
  // An SQLSTATE: Postgres refused, and says why in words.
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code))
    return new CliFailure(`The database refused this (${code}): ${oneLine(error.message)}`);
  return error;
}

/** What goes to standard error: one line for what was to be expected, a stack for a mistake of ours. */
export function describeFailure(error: unknown): string {
  const known = databaseFailure(error);
  if (known instanceof SendledgerError || known instanceof CliFailure) return known.message;
  return known instanceof Error ? (known.stack ?? known.message) : String(known);
}

/** Of several attempts (IPv4, IPv6) the driver reports an AggregateError, with the reasons inside. */
function codeOf(error: Error): string | undefined {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? codeOf(first) : undefined;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
