/**
 * The one catalogue of errors this system raises on purpose. A code is stable: programs branch on it, the reference page
 * is generated from it. `what` names the thing that is wrong, `remedy` says what a person does about it.
 */
export const ERRORS = {
  SENDLEDGER_CONFIG: {
    what: 'The configuration is not usable.',
    remedy: 'Set each variable named in the message as it says, then start again.',
  },
  SENDLEDGER_MESSAGE_REFUSED: {
    what: 'At least one message of the call was refused before anything was written.',
    remedy:
      "Read `problems`: each has the message's index, the field and the reason. Use onProblem: 'report' to write the good ones.",
  },
  SENDLEDGER_DATABASE_UNREACHABLE: {
    what: 'The database does not answer.',
    remedy: 'Check DATABASE_URL, that the server runs, and that this host may connect to it.',
  },
  SENDLEDGER_DATABASE_REFUSED: {
    what: 'The database answers, but refuses this login, role or database.',
    remedy:
      'Check user, password, role and database name in DATABASE_URL, and that the role was given its rights by `migrate`.',
  },
  SENDLEDGER_DATABASE_TOO_OLD: {
    what: 'The Postgres server is older than 15.',
    remedy: 'Use PostgreSQL 15 or newer.',
  },
  SENDLEDGER_DATABASE_ENCODING: {
    what: 'The database is not encoded in UTF8, so a text could not be stored or keyed faithfully.',
    remedy: 'Create a database with ENCODING UTF8 and migrate that.',
  },
  SENDLEDGER_MIGRATION_MISSING: {
    what: 'The database schema is not at the version this program was built for.',
    remedy: 'Run `npm run sendledger -- migrate` with a DATABASE_URL that may create objects, then start again.',
  },
  SENDLEDGER_DATABASE_UNSAFE: {
    what: 'The database server may lose what it has confirmed.',
    remedy: 'Run Postgres with fsync = on and full_page_writes = on.',
  },
  SENDLEDGER_TEMPLATE_UNKNOWN: {
    what: 'The template is not registered, or not in that version.',
    remedy: 'Register it with `sendledger template add`, or name a version that `sendledger template list` shows.',
  },
  SENDLEDGER_KEY_NOT_TEXT: {
    what: 'A business key cannot be made of this.',
    remedy: 'Give ids as well-formed text without NUL.',
  },
  SENDLEDGER_TRANSACTION_NEEDED: {
    what: 'The enqueue is not inside a transaction.',
    remedy:
      'Pass the client that ran BEGIN, or the entity manager inside em.transactional(); for a pool use producer.transaction(pool, fn).',
  },
  SENDLEDGER_COMMIT_ROLLED_BACK: {
    what: 'COMMIT was answered by a rollback: a statement of the transaction had failed before.',
    remedy: 'Let the error of the failed statement reach transaction(), or put a savepoint around what may fail.',
  },
  SENDLEDGER_AMOUNT_INVALID: {
    what: 'This is no amount of money that the ledger can book.',
    remedy: 'Give a decimal above zero with at most four places, e.g. 0.12; a correction may be below zero.',
  },
  SENDLEDGER_BACKFILL_REFUSED: {
    what: 'This backfill cannot be made.',
    remedy:
      'Name days that exist and are over where the provider is, and an account whose provider has a report of a day.',
  },
  SENDLEDGER_REASON_NEEDED: {
    what: 'What a person decides is kept with name and reason.',
    remedy: 'Say who decides (--by), and why (--why).',
  },
} as const satisfies Record<string, { what: string; remedy: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** An error from the catalogue. `message` is one line: what happened, to what, what to do. */
export class SendledgerError extends Error {
  readonly code: ErrorCode;
  readonly remedy: string;

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown }) {
    const entry = ERRORS[code];
    super(`${code}: ${entry.what} ${detail} ${entry.remedy}`.replace(/\s+/g, ' ').trim(), options);
    this.name = 'SendledgerError';
    this.code = code;
    this.remedy = entry.remedy;
  }
}
