/** A number in [0, 1) that depends on `seed`, `stream` and `index` alone, so that a run can be repeated. */
export function seededRandom(seed: number, stream: string, index: number): number {
  let hash = seed >>> 0;
  for (let at = 0; at < stream.length; at++) hash = mix(hash ^ stream.charCodeAt(at));
  hash = mix(hash ^ (index >>> 0));
  hash = mix(hash ^ Math.floor(index / 2 ** 32));
  return mix(hash + 0x9e3779b9) / 2 ** 32;
}

// The finaliser of MurmurHash3: every bit of the input moves half the bits of the output.
function mix(value: number): number {
  let hash = value >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
