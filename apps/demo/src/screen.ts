import { MESSAGE_CLASSES, type MessageState } from '@sendledger/core';
import { createLogUpdate } from 'log-update';
import type { LedgerReading } from './ledger-reading.ts';

/** What is shown while a run goes on. */
interface Snapshot {
  readonly ledger: LedgerReading;
  readonly created: number;
  /** How many there will be; null when nobody knows. */
  readonly wanted: number | null;
  readonly seconds: number;
}

/** Where people read: a table that stays in place on a terminal, plain lines anywhere else. */
export interface Screen {
  say(...lines: string[]): void;
  show(snapshot: Snapshot): void;
  /** Leaves the last table standing. */
  done(): void;
}

const STATES: readonly MessageState[] = [
  'pending',
  'claimed',
  'retry',
  'submitted',
  'unknown',
  'delivered',
  'failed',
  'rejected',
  'expired',
];
const PLAIN_EVERY_MS = 2_000;
const BAR = 30;

export function createScreen(stream: NodeJS.WriteStream): Screen {
  // A terminal that does not know its own width would be drawn one character wide.
  return stream.isTTY === true && stream.columns > 0 ? new TerminalScreen(stream) : new PlainScreen(stream);
}

class TerminalScreen implements Screen {
  readonly #log: ReturnType<typeof createLogUpdate>;

  constructor(stream: NodeJS.WriteStream) {
    this.#log = createLogUpdate(stream);
  }

  say(...lines: string[]): void {
    this.#log.persist(lines.join('\n'));
  }

  show(snapshot: Snapshot): void {
    this.#log(table(snapshot));
  }

  done(): void {
    this.#log.done();
  }
}

class PlainScreen implements Screen {
  readonly #stream: NodeJS.WriteStream;
  #shownAt = 0;
  #shown = '';

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  say(...lines: string[]): void {
    this.#stream.write(`${lines.join('\n')}\n`);
  }

  show(snapshot: Snapshot): void {
    const text = line(snapshot);
    if (Date.now() - this.#shownAt < PLAIN_EVERY_MS || text === this.#shown) return;
    this.#shownAt = Date.now();
    this.#shown = text;
    this.say(`${snapshot.seconds.toFixed(1).padStart(6)} s  ${text}`);
  }

  done(): void {}
}

function line({ ledger, created, wanted }: Snapshot): string {
  const states = STATES.filter((state) => ledger.states[state]).map((state) => `${state} ${ledger.states[state]}`);
  return [`enqueued ${created}${wanted === null ? '' : `/${wanted}`}`, ...states].join(', ');
}

/** States down, classes across: it fits into 80 columns. */
function table({ ledger, created, wanted, seconds }: Snapshot): string {
  const row = (name: string, cells: readonly string[]) =>
    name.padEnd(12) + cells.map((cell) => cell.padStart(15)).join('');
  const cell = (count: number | undefined) => (count === undefined ? '·' : String(count));
  const progress = `enqueued ${created}${wanted === null ? '' : ` of ${wanted}`}, ${ledger.open} open, ${seconds.toFixed(1)} s`;
  return [
    '',
    row('', [...MESSAGE_CLASSES, 'all']),
    ...STATES.map((state) =>
      row(state, [...MESSAGE_CLASSES.map((c) => cell(ledger.byClass.get(c)?.[state])), cell(ledger.states[state])]),
    ),
    '',
    wanted === null ? progress : `${bar(created, wanted)} ${progress}`,
  ].join('\n');
}

function bar(done: number, of: number): string {
  const full = Math.min(BAR, Math.floor((done / of) * BAR));
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`;
}
