/** The same pattern without the flags g and y, with which a RegExp remembers where it matched last. */
export function stateless(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
}
