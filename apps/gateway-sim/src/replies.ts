import type { FastifyReply } from 'fastify';
import type { ProviderError } from './error-codes.ts';
import type { GatewaySimOptions } from './options.ts';
import type { Parameters } from './request-parameters.ts';

type Style = Pick<GatewaySimOptions, 'jsonAsHtml' | 'unquotedIds' | 'unquotedCodes'>;

/** Answers with a body of the flat family: JSON if `output=json`, else the values joined with ` | `. */
export function replyFlat(
  reply: FastifyReply,
  parameters: Parameters,
  body: Readonly<Record<string, string>>,
  style: Style,
): FastifyReply {
  if (parameters.output === 'json') return replyJson(reply, body, style);
  return replyPlain(reply, Object.values(body).join(' | '));
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

/** Answers with a body of the nested family; in plain output each row is a line. */
export function replyNested(
  reply: FastifyReply,
  parameters: Parameters,
  response: Readonly<Record<string, unknown>>,
  rows: readonly Readonly<Record<string, string>>[],
  style: Style,
): FastifyReply {
  if (parameters.output === 'json') return replyJson(reply, { response }, style);
  return replyPlain(reply, rows.map((row) => Object.values(row).join(' | ')).join('\n'));
}

/** An error page as a proxy in front of the service would send it. */
export function replyHtml(reply: FastifyReply, httpStatus: number, title: string): FastifyReply {
  const page = `<html>\r\n<head><title>${title}</title></head>\r\n<body><center><h1>${title}</h1></center></body>\r\n</html>\r\n`;
  return reply.code(httpStatus).type('text/html').send(page);
}

function replyJson(reply: FastifyReply, body: object, style: Style): FastifyReply {
  let text = JSON.stringify(body);
  // A quote inside of a text is written \", so these patterns cannot match within one.
  if (style.unquotedIds) text = text.replace(/"(transactionId|uuId)":"(\d+)"/g, '"$1":$2');
  if (style.unquotedCodes) text = text.replace(/"(statusCode|code)":"(\d+)"/g, '"$1":$2');
  return reply
    .code(200)
    .type(style.jsonAsHtml ? 'text/html; charset=UTF-8' : 'application/json')
    .send(text);
}

function replyPlain(reply: FastifyReply, text: string): FastifyReply {
  return reply.code(200).type('text/html; charset=UTF-8').send(text);
}
