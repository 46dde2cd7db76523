import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import type { MessageFormat } from '@sendledger/producer';
import type { Cleanup } from './cleanup.ts';
import { UsageError } from './options.ts';

/** The user's file, open. */
export interface MessageFile {
  readonly name: string;
  readonly format: MessageFormat;
  read(): AsyncIterable<Uint8Array>;
}

const FORMATS: Readonly<Record<string, MessageFormat>> = {
  '.csv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
};

/**
 * Opens the file before anything is started: a misspelt name should not cost a Postgres.
 * @throws UsageError when it cannot be opened, or its name does not say what is in it.
 */
export async function openMessageFile(name: string, cleanup: Cleanup): Promise<MessageFile> {
  const format = FORMATS[path.extname(name).toLowerCase()];
  if (format === undefined) throw new UsageError(`--input ${name}: its name must end with .csv, .ndjson or .jsonl`);
  let handle: FileHandle;
  try {
    handle = await open(name);
    if ((await handle.stat()).isDirectory())
      throw Object.assign(new Error('it is a folder'), { code: 'it is a folder' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `--input ${name} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : (code ?? message)}`,
    );
  }
  cleanup.add('close the input file', () => handle.close());
  return { name, format, read: () => handle.createReadStream({ autoClose: false }) };
}
