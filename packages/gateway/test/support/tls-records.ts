const HEADER_BYTES = 5;
const APPLICATION_DATA = 23;

/**
 * How many bytes of application data a client has put on the wire in a TLS session, from all that it wrote. What is not TLS at
 * all counts in full.
 */
export function applicationDataBytes(written: Buffer): number {
  let bytes = 0;
  for (let at = 0; at + HEADER_BYTES <= written.length; ) {
    const type = written.readUInt8(at);
    const isTls = type >= 20 && type <= 23 && written.readUInt8(at + 1) === 3;
    if (!isTls) return bytes + written.length - at;
    const length = written.readUInt16BE(at + 3);
    if (type === APPLICATION_DATA) bytes += length;
    at += HEADER_BYTES + length;
  }
  return bytes;
}
