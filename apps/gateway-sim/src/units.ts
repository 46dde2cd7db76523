// What a message costs in segments. Written for the simulator alone: it must be able to disagree with Sendledger's count.

// Characters of ASCII that GSM 03.38 reaches only through its escape table, so that they take two septets.
const ESCAPED = new Set('^{}\\[~]|\f');

/** Segments billed for one copy of `text`. @param msgType what the request said, not what the text would need. */
export function countUnits(text: string, msgType: 'text' | 'unicode'): number {
  return msgType === 'text' ? septetSegments(text) : utf16Segments(text);
}

function septetSegments(text: string): number {
  return segments(text, 160, 153, (character) => (ESCAPED.has(character) ? 2 : 1));
}

function utf16Segments(text: string): number {
  return segments(text, 70, 67, (character) => character.length);
}

// Fills part after part; what takes two places (an escape, a surrogate pair) is not split over two parts.
function segments(text: string, whole: number, part: number, width: (character: string) => number): number {
  let total = 0;
  let parts = 1;
  let used = 0;
  for (const character of text) {
    const needed = width(character);
    total += needed;
    if (used + needed > part) {
      parts++;
      used = 0;
    }
    used += needed;
  }
  return total <= whole ? 1 : parts;
}
