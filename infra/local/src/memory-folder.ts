import { readFile, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';

const FOLDER = '/dev/shm';
/** The data of a whole test run takes a quarter of this. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * A folder on a file system in memory, where it has room and programs in it may run; else null. A server there flushes at once what
 * it is told to flush, and on a machine with a slow disk that is half of what tests wait for. Nothing there outlives the machine: it
 * is for servers whose machine is not taken away.
 */
export async function memoryFolder(): Promise<string | null> {
  try {
    const { bavail, bsize } = await statfs(FOLDER);
    if (bavail * bsize < ROOM_BYTES || freemem() < 2 * ROOM_BYTES) return null;
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
    const options = mounts.find(([, place]) => place === FOLDER)?.[3]?.split(',') ?? ['noexec'];
    return options.includes('noexec') ? null : FOLDER;
  } catch {
    return null;
  }
}
