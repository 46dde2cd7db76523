import { type FileHandle, mkdtemp, open, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Lends an empty file that is gone afterwards, whatever happens: its name is taken away before anything is in it, so that what it
 * holds (texts of messages) goes with the process, also with one that is killed. Where an open file cannot lose its name it is
 * removed at the end.
 */
export async function withPrivateFile<T>(work: (file: FileHandle) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sendledger-day-'));
  try {
    const name = path.join(folder, 'answer');
    const file = await open(name, 'wx+', 0o600);
    try {
      await unlink(name).catch(() => undefined);
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
      return await work(file);
    } finally {
      await file.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
