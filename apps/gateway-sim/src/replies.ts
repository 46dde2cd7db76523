import type { FastifyReply } from 'fastify';
import type { ProviderError } from './error-codes.ts';
import type { GatewaySimOptions } from './options.ts';
import type { Parameters } from './request-parameters.ts';

type Style = Pick<GatewaySimOptions, 'jsonAsHtml' | 'unquotedIds' | 'unquotedCodes'>;

/** A body of the flat family: JSON if `output=json`, else the values joined with ` | `. */
export function flatText(parameters: Parameters, body: Readonly<Record<string, string>>, style: Style): string {
  return parameters.output === 'json' ? jsonText(body, style) : Object.values(body).join(' | ');
}

/** Answers with a body of the flat family. */
export function replyFlat(
  reply: FastifyReply,
  parameters: Parameters,
  body: Readonly<Record<string, string>>,
  style: Style,
): FastifyReply {
  const text = flatText(parameters, body, style);
  return parameters.output === 'json' ? replyJson(reply, text, style) : replyPlain(reply, text);
}

/** Answers with an error, which is flat and HTTP 200 on every endpoint. */
export function replyError(
  reply: FastifyReply,
  parameters: Parameters,
  error: ProviderError,
  style: Style,
): FastifyReply {
  return replyFlat(reply, parameters, { status: 'error', ...error }, style);
}

/** Answers with an error in the body and in the HTTP status, as a limiter does. @param retryAfter seconds. */
export function replyThrottled(
  reply: FastifyReply,
  parameters: Parameters,
  error: ProviderError,
  retryAfter: number,
  style: Style,
): FastifyReply {
  return replyError(reply.header('retry-after', String(retryAfter)).code(429), parameters, error, style);
}

/** Answers with a body of the nested family; in plain output each row is a line. */
export function replyNested(
  reply: FastifyReply,
  parameters: Parameters,
  response: Readonly<Record<string, unknown>>,
  rows: readonly Readonly<Record<string, string>>[],
  style: Style,
): FastifyReply {
  if (parameters.output === 'json') return replyJson(reply, jsonText({ response }, style), style);
  return replyPlain(reply, rows.map((row) => Object.values(row).join(' | ')).join('\n'));
}

/** An error page as a proxy in front of the service would send it. */
export function replyHtml(reply: FastifyReply, httpStatus: number, title: string): FastifyReply {
  const page = `<html>\r\n<head><title>${title}</title></head>\r\n<body><center><h1>${title}</h1></center></body>\r\n</html>\r\n`;
  return reply.code(httpStatus).type('text/html').send(page);
}

function jsonText(body: object, style: Style): string {
  let text = JSON.stringify(body);
  // A quote inside of a text is written \", so these patterns cannot match within one.
  if (style.unquotedIds) text = text.replace(/"(transactionId|uuId)":"(\d+)"/g, '"$1":$2');
  if (style.unquotedCodes) text = text.replace(/"(statusCode|code)":"(\d+)"/g, '"$1":$2');
  return text;
}

function replyJson(reply: FastifyReply, text: string, style: Style): FastifyReply {
  return reply.type(style.jsonAsHtml ? 'text/html; charset=UTF-8' : 'application/json').send(text);
}

function replyPlain(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/html; charset=UTF-8').send(text);
}
