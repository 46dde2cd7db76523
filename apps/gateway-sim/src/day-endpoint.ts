import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ZipFile } from 'yazl';
import { credentialsHold } from './credentials.ts';
import { dayCsv } from './day-csv.ts';
import type { DayReportFaultName } from './day-report-faults.ts';
import { badParameter, DAY_NOT_AVAILABLE, INVALID_CREDENTIALS, THROTTLED, UNLISTED } from './error-codes.ts';
import { replyError, replyHtml, replyNested, replyThrottled } from './replies.ts';
import { readParameters } from './request-parameters.ts';
import { reset } from './send-failures.ts';
import type { Simulation } from './simulation.ts';

/** `/SMSApi/report/day`: the rows of one day that is over, as a CSV file in a zip. */
export async function handleDayReport(
  simulation: Simulation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { options, clock, dayReports } = simulation;
  const parameters = readParameters(request);
  if (!credentialsHold(request, parameters, simulation))
    return replyError(reply, parameters, INVALID_CREDENTIALS, options);
  const date = parameters.date ?? '';
  const day = clock.readDay(date);
  if (day === null) return replyError(reply, parameters, badParameter('date must be YYYY-MM-DD'), options);
  const fault = dayReports.pick();
  switch (fault) {
    case 'unlisted-error':
      return replyError(reply, parameters, UNLISTED, options);
    case 'throttle-429':
      return replyThrottled(reply, parameters, THROTTLED, 1, options);
    case 'http-500':
      return replyHtml(reply, 500, '500 Internal Server Error');
    case 'html-under-200':
      return replyHtml(reply, 200, '502 Bad Gateway');
    case 'reset':
      return reset(request, reply);
    case 'hold': {
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      await simulation.faults.hold(gone.signal);
      if (gone.signal.aborted) return reply.hijack();
      break;
    }
  }
  if (fault === 'not-available' || options.now() < day.end)
    return replyError(reply, parameters, DAY_NOT_AVAILABLE, options);
  if (dayReports.asLink || fault === 'foreign-link') {
    const token = randomUUID();
    dayReports.link(token, date);
    const place = `/SMSApi/report/file/${token}`;
    const link = fault === 'foreign-link' ? `http://provider.invalid${place}` : place;
    const response = {
      api: 'report',
      action: 'day',
      status: 'success',
      msg: 'success',
      code: '200',
      downloadUrl: link,
    };
    return replyNested(reply, parameters, response, [], options);
  }
  return replyArchive(simulation, date, fault, reply);
}

/** Where the archive lies, for an answer that gave a link. */
export function handleDayFile(simulation: Simulation, request: FastifyRequest, reply: FastifyReply): unknown {
  const token = /[^/?]+(?=\?|$)/.exec(request.url)?.[0] ?? '';
  const date = simulation.dayReports.dayAt(token);
  return date === null ? replyHtml(reply, 404, '404 Not Found') : replyArchive(simulation, date, null, reply);
}

async function replyArchive(
  simulation: Simulation,
  date: string,
  fault: DayReportFaultName | null,
  reply: FastifyReply,
): Promise<unknown> {
  const day = simulation.clock.readDay(date);
  if (day === null) throw new RangeError(`no such day: ${date}`);
  const rows = dayCsv(simulation, simulation.dayReports.give(date) ? day : { start: 0, end: 0 }, fault === 'bad-rows');
  const zip = new ZipFile();
  // As a portal writes it, in a folder; a client must not care.
  zip.addReadStream(Readable.from(rows), `reports/dlr_${date}.csv`);
  zip.end();
  const archive = await buffer(zip.outputStream);
  reply.type('application/zip');
  switch (fault) {
    case 'truncated':
      return reply.send(archive.subarray(0, Math.floor(archive.length / 2)));
    case 'cut-off':
      // Announced whole, and the connection ends in the middle.
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'application/zip', 'content-length': archive.length });
      return reply.raw.write(archive.subarray(0, Math.floor(archive.length / 2)), () => reply.raw.destroy());
    case 'wrong-checksum':
      return reply.send(withWrongChecksum(archive));
    default:
      return reply.send(archive);
  }
}

const DIRECTORY_ENTRY = Buffer.from('PK\u0001\u0002', 'latin1');
const CHECKSUM_AT = 16;

/** What is packed is right, and what the directory says of it is not. */
function withWrongChecksum(archive: Buffer): Buffer {
  const changed = Buffer.from(archive);
  const at = changed.lastIndexOf(DIRECTORY_ENTRY) + CHECKSUM_AT;
  changed.writeUInt32LE((changed.readUInt32LE(at) ^ 1) >>> 0, at);
  return changed;
}
