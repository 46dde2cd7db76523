import { type DestinationStream, type LoggerOptions, pino } from 'pino';

export type Log = pino.Logger;

/** Never in a log line, wherever it stands: texts carry codes, and codes open accounts. */
const NEVER = ['body', 'msg', 'text', 'code', 'otp', 'password', 'apikey', 'apiKey', 'raw_reply', 'template_params'];

/** One line an event, JSON, on standard output unless told where. Error objects are reduced to their message, error code and stack. */
export function createLog(app: string, level: string, instance: string, to?: DestinationStream): Log {
  const options: LoggerOptions = {
    level,
    base: { app, instance },
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'event',
    redact: { paths: NEVER.flatMap((key) => (key === 'msg' ? [`*.${key}`] : [key, `*.${key}`])), remove: true },
    serializers: {
      err: (error: Error & { code?: unknown }) => ({
        message: error.message,
        // Of Postgres it is the SQLSTATE. Under `code` it would be taken for a password's, and left out.
        error_code: error.code,
        stack: error.stack,
      }),
    },
  };
  return to === undefined ? pino(options) : pino(options, to);
}

/** `919999999999` → `9199******99`: enough to recognise a number one knows, not enough to call it. */
export function maskRecipient(recipient: string): string {
  return recipient.length <= 6 ? '***' : `${recipient.slice(0, 4)}******${recipient.slice(-2)}`;
}
