import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { CliFailure } from './failure.ts';

/** A stream of octets to read, and how many they are where that is known. */
export interface Input {
  readonly stream: AsyncIterable<Uint8Array | string>;
  readonly octets: number | null;
}

/** Opens a file, or standard input for `-`. */
export async function openInput(file: string): Promise<Input> {
  if (file === '-') return { stream: process.stdin, octets: null };
  try {
    const facts = await stat(file);
    if (facts.isDirectory()) throw new CliFailure(`${file} is a folder.`);
    return { stream: readable(file), octets: facts.isFile() ? facts.size : null };
  } catch (error) {
    throw fileFailure(file, error);
  }
}

/** Reads a small file whole, or standard input for `-`. */
export async function readWhole(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw fileFailure(file, error);
  }
}

async function* readable(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw fileFailure(file, error);
  }
}

function fileFailure(file: string, error: unknown): unknown {
  switch ((error as { code?: unknown }).code) {
    case 'ENOENT':
      return new CliFailure(`${file} does not exist.`);
    case 'EACCES':
    case 'EPERM':
      return new CliFailure(`${file} may not be read.`);
    case 'EISDIR':
      return new CliFailure(`${file} is a folder.`);
    default:
      return error;
  }
}
