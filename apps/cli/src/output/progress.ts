import { counted } from './words.ts';

const BAR_CELLS = 24;
const REDRAW_MS = 100;

/** A line that is drawn over and over. Without a terminal it draws nothing. */
export interface Progress {
  /** How far: octets of `total` where it is known, and lines. */
  update(octets: number, lines: number): void;
  /** Takes the bar away, so that something else can be written. */
  clear(): void;
}

export function progressOn(stream: NodeJS.WriteStream, total: number | null): Progress {
  if (!stream.isTTY) return { update: () => undefined, clear: () => undefined };
  const started = performance.now();
  let drawn = 0;
  return {
    update(octets, lines) {
      const now = performance.now();
      if (now - drawn < REDRAW_MS) return;
      drawn = now;
      const rate = Math.round(lines / Math.max(0.001, (now - started) / 1000));
      stream.write(`\r\x1b[K${bar(octets, total)}${counted(lines, 'line')}  ${counted(rate, 'line')}/s`);
    },
    clear() {
      stream.write('\r\x1b[K');
    },
  };
}

function bar(octets: number, total: number | null): string {
  return total === null || total === 0 ? '' : `${progressBar(octets, total)}  `;
}

/** `[######..................]  25 %`; full only when all is done. */
export function progressBar(done: number, total: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(part * BAR_CELLS);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}] ${String(Math.floor(part * 100)).padStart(3)} %`;
}
