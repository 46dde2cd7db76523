import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

/**
 * The body of a request. `too_long`: it is, or says that it will be, longer than `limit` bytes; nothing more of it is read.
 * `gone`: the client left, or was cut off, before it was whole.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer | 'too_long' | 'gone'> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.resolve('too_long');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      resolve('too_long');
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => resolve('gone'));
    request.on('close', () => resolve('gone'));
  });
}
