import type { FileHandle } from 'node:fs/promises';
import type { Got } from 'got';
import { errorFacts, ReplyTooLarge, replyHeaders } from './reply-facts.ts';
import type { Downloaded, DownloadRequest, ReplyHeaders, TransportFailure } from './transport.ts';
import { noProgress, watchedRequest } from './watched-request.ts';

/**
 * One read whose answer goes to a file as it arrives: of a body that may have hundreds of megabytes only a chunk is in memory.
 *
 * @param client without retries, redirects and errors for HTTP statuses.
 * @param totalMs hard end, whatever the client's own time-outs do.
 */
export async function download(
  request: DownloadRequest,
  file: FileHandle,
  client: Got,
  totalMs: number,
): Promise<Downloaded | TransportFailure> {
  const progress = noProgress();
  let head: { readonly status: number; readonly headers: ReplyHeaders } | null = null;
  let bytes = 0;
  const end = AbortSignal.timeout(totalMs);
  try {
    const stream = client.stream(request.url, {
      ...(request.form === null ? { method: 'GET' } : { method: 'POST', body: request.form.toString() }),
      headers: {
        ...request.headers,
        ...(request.form === null ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      request: watchedRequest(progress, null),
      signal: request.signal === undefined ? end : AbortSignal.any([request.signal, end]),
    });
    progress.onUpgrade = () => stream.destroy(new Error('The reply switches protocols.'));
    stream.on('response', (response) => {
      progress.phase = 'reply';
      head = { status: response.statusCode ?? 0, headers: replyHeaders(response.headers) };
    });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (bytes + chunk.length > request.maxBytes) throw new ReplyTooLarge('The reply is longer than its limit.');
      // Not a stream of the file's: that would keep the file from being closed.
      await writeWhole(file, chunk, bytes);
      bytes += chunk.length;
    }
    if (head === null) throw new Error('A stream that ended without a reply.');
    return { kind: 'downloaded', ...(head as { status: number; headers: ReplyHeaders }), bytes };
  } catch (error) {
    const seen = head as { readonly status: number; readonly headers: ReplyHeaders } | null;
    return {
      kind: 'failure',
      phase: progress.phase,
      secure: request.url.protocol === 'https:',
      ...errorFacts(error),
      reusedSocket: progress.clientRequest?.reusedSocket ?? false,
      budgetSpent: false,
      partial: seen === null ? null : { ...seen, body: Buffer.alloc(0) },
    };
  }
}

async function writeWhole(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let written = 0; written < chunk.length; )
    written += (await file.write(chunk, written, chunk.length - written, position + written)).bytesWritten;
}
