import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** An archive of these files, by name. */
export async function archive(
  files: Readonly<Record<string, string | Buffer>>,
  options: { readonly compress?: boolean } = {},
): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, contents] of Object.entries(files))
    if (name.endsWith('/')) zip.addEmptyDirectory(name);
    else zip.addBuffer(Buffer.from(contents), name, { compress: options.compress ?? true });
  zip.end();
  return buffer(zip.outputStream);
}

const DIRECTORY_ENTRY = Buffer.from('PK\u0001\u0002', 'latin1');

/** Where in an entry of the directory each of its facts stands. */
const FACTS = { flags: [8, 2], method: [10, 2], checksum: [16, 4], packed: [20, 4], unpacked: [24, 4] } as const;

/** The same archive with another word about its last file in the directory. */
export function withFact(zip: Buffer, fact: keyof typeof FACTS, change: (value: number) => number): Buffer {
  const changed = Buffer.from(zip);
  const [offset, bytes] = FACTS[fact];
  const at = changed.lastIndexOf(DIRECTORY_ENTRY) + offset;
  changed.writeUIntLE(change(changed.readUIntLE(at, bytes)), at, bytes);
  return changed;
}

/** As many files as wanted that are all one and the same: the directory names its bytes again and again. */
export function overlapping(zip: Buffer, files: number): Buffer {
  const start = zip.indexOf(DIRECTORY_ENTRY);
  const end = zip.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
  const entry = zip.subarray(start, end);
  const tail = Buffer.from(zip.subarray(end));
  tail.writeUInt16LE(files, 8);
  tail.writeUInt16LE(files, 10);
  tail.writeUInt32LE(entry.length * files, 12);
  return Buffer.concat([zip.subarray(0, start), ...Array.from({ length: files }, () => entry), tail]);
}
