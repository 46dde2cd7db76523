import type { Message } from '@sendledger/core';
import {
  type EnqueueResult,
  fileField,
  type MessageDefaults,
  type MessageFormat,
  type Producer,
  readMessages,
} from '@sendledger/producer';
import type pg from 'pg';
import { CliFailure, databaseFailure, describeFailure } from './failure.ts';

/** Messages of one transaction. An interruption costs at most these, and the same file again puts them in. */
const BATCH = 500;

export interface EnqueueSummary {
  /** In the ledger now: `created` and `duplicates`. */
  readonly accepted: number;
  readonly created: number;
  readonly duplicates: number;
  readonly conflicts: number;
  readonly invalid: number;
  /** Lines that should have been a message; a CSV header and empty lines are none. */
  readonly lines: number;
}

export interface LineRefusal {
  readonly line: number;
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** What is told while a file is read. */
export interface EnqueueListener {
  refused(refusal: LineRefusal): void;
  advanced(octets: number, lines: number): void;
}

interface Numbered {
  readonly line: number;
  readonly message: Message;
}

/** Streams a file into the ledger, a batch a transaction, in the order of its lines. */
export async function enqueueFile(
  pool: pg.Pool,
  producer: Producer,
  stream: AsyncIterable<Uint8Array | string>,
  format: MessageFormat,
  defaults: MessageDefaults,
  listener: EnqueueListener,
): Promise<EnqueueSummary> {
  const totals = { accepted: 0, created: 0, duplicates: 0, conflicts: 0, invalid: 0, lines: 0 };
  let octets = 0;
  let written = 0;
  let batch: Numbered[] = [];
  /** Kept for the end of the batch, so that what is told is in the order of the lines. */
  let refusals: LineRefusal[] = [];

  const tell = () => {
    refusals.sort((a, b) => a.line - b.line);
    for (const refusal of refusals) listener.refused(refusal);
    refusals = [];
  };
  const flush = async () => {
    if (batch.length > 0) await writeBatch();
    tell();
    listener.advanced(octets, totals.lines);
  };
  const writeBatch = async () => {
    const sent = batch;
    batch = [];
    for (const { index, answer, ...result } of await write(pool, producer, sent, written)) {
      if (answer === 'created') totals.created += 1;
      else if (answer === 'duplicate') totals.duplicates += 1;
      else {
        if (answer === 'conflict') totals.conflicts += 1;
        else totals.invalid += 1;
        refusals.push(refusalOf(sent[index]?.line ?? 0, answer, result));
      }
    }
    written = sent.at(-1)?.line ?? written;
  };

  const counting = counted(stream, (size) => {
    octets += size;
  });
  try {
    for await (const read of readMessages(counting, format, defaults)) {
      totals.lines += 1;
      if (read.ok) {
        batch.push({ line: read.line, message: read.message });
      } else {
        totals.invalid += 1;
        for (const problem of read.problems) refusals.push({ line: read.line, ...problem });
      }
      if (batch.length >= BATCH || refusals.length >= BATCH) await flush();
    }
    await flush();
  } finally {
    // What is wrong with the lines read so far is said also where the database or the file gave up.
    tell();
  }
  return { ...totals, accepted: totals.created + totals.duplicates };
}

/** @throws CliFailure that says how far the file got, because what is committed stays. */
async function write(
  pool: pg.Pool,
  producer: Producer,
  batch: readonly Numbered[],
  written: number,
): Promise<readonly EnqueueResult[]> {
  try {
    const messages = batch.map(({ message }) => message);
    const { results } = await producer.transaction(pool, (tx) => producer.enqueue(tx, messages));
    return results;
  } catch (error) {
    const known = databaseFailure(error);
    if (written === 0 || known === error) throw known;
    throw new CliFailure(
      `${describeFailure(known)} Everything up to line ${written} is in the ledger; enqueue the same file again, nothing is sent twice.`,
    );
  }
}

function refusalOf(
  line: number,
  answer: 'conflict' | 'invalid',
  result: Omit<EnqueueResult, 'index' | 'answer'>,
): LineRefusal {
  if (answer === 'conflict')
    return {
      line,
      field: 'event_id',
      reason: 'conflict',
      message: `Message ${result.id ?? ''} has this event and recipient, with another text.`,
    };
  return {
    line,
    field: fileField(result.field ?? 'message'),
    reason: result.reason ?? 'invalid',
    message: sentence(result.message ?? ''),
  };
}

/** The database's own reasons begin small and end without a full stop. */
function sentence(text: string): string {
  if (text === '') return 'It was refused.';
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

async function* counted(
  stream: AsyncIterable<Uint8Array | string>,
  add: (octets: number) => void,
): AsyncGenerator<Uint8Array | string> {
  for await (const chunk of stream) {
    add(chunk.length);
    yield chunk;
  }
}
