import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import type { DayReportLimits } from '../day-report.ts';

/** An archive that cannot or may not be read. `message` holds nothing of what is in it. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive';
}

const STORED = 0;
const DEFLATED = 8;

/** An archive that was read through once: it is whole, its checksums hold, and it is within the limits. */
export interface CheckedArchive {
  readonly unpackedBytes: number;
  /** The contents of its files, in the order of its directory. Names and folders mean nothing. */
  readonly files: readonly (() => Promise<Readable>)[];
}

/**
 * Checks an archive in a file and hands it to `work`. It is unpacked twice, once for the check and once for its rows: a row that was
 * acted upon before a wrong checksum was found could not be taken back. Limits are checked against what really comes out, and
 * before that against what the directory claims, so that a bomb is not even begun.
 *
 * @throws BadArchive
 */
export async function withArchive<T>(
  file: FileHandle,
  bytes: number,
  limits: DayReportLimits,
  work: (archive: CheckedArchive) => Promise<T>,
): Promise<T> {
  // Names stay octets: they are not looked at, so that none can be hostile.
  const zip = await broken(() => fromFdPromise(file.fd, { autoClose: false, decodeStrings: false }));
  const entries = await broken(() => directory(zip, limits));
  const most = Math.min(limits.maxUnpackedBytes, limits.maxRatio * bytes);
  const tooMuch = () =>
    new BadArchive(
      most < limits.maxUnpackedBytes
        ? `it unpacks to more than ${limits.maxRatio} times its size`
        : `it unpacks to more than ${limits.maxUnpackedBytes} bytes`,
    );
  let claimed = 0;
  for (const entry of entries) {
    claimed += entry.uncompressedSize;
    if (claimed > most) throw tooMuch();
  }
  let unpackedBytes = 0;
  for (const entry of entries)
    await broken(async () => {
      let sum = 0;
      for await (const chunk of await zip.openReadStreamPromise(entry)) {
        unpackedBytes += (chunk as Buffer).length;
        if (unpackedBytes > most) throw tooMuch();
        sum = crc32(chunk as Buffer, sum);
      }
      if (sum !== entry.crc32) throw new BadArchive('a checksum is wrong');
    });
  return work({ unpackedBytes, files: entries.map((entry) => () => zip.openReadStreamPromise(entry)) });
}

async function directory(zip: ZipFile, { maxFiles }: DayReportLimits): Promise<Entry[]> {
  if (zip.entryCount > maxFiles) throw new BadArchive(`it holds more than ${maxFiles} files`);
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) {
    if (isFolder(entry)) continue;
    if (entry.isEncrypted()) throw new BadArchive('a file in it is encrypted');
    if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED)
      throw new BadArchive(`a file in it is packed by method ${entry.compressionMethod}`);
    entries.push(entry);
  }
  return entries;
}

function isFolder(entry: Entry): boolean {
  return entry.uncompressedSize === 0 && entry.fileNameRaw.at(-1) === 0x2f;
}

/** What the reader of the format or the unpacker says no to. */
async function broken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BadArchive) throw error;
    const words = error instanceof Error ? error.message.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 120) : '';
    throw new BadArchive(`the archive is broken (${words})`, { cause: error });
  }
}
