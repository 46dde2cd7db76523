import type { Message } from '@sendledger/core';
import { createProducer, type EnqueueResult, fileField, type Producer, readMessages } from '@sendledger/producer';
import pg from 'pg';
import { TENANT } from './house.ts';
import type { MessageFile } from './message-file.ts';
import type { Source } from './source.ts';

/** Lines in one transaction. */
const PER_TRANSACTION = 200;
/** For lines that do not say. The event id has no default: it is what makes a second reading harmless. */
const DEFAULTS = { tenant: TENANT, class: 'transactional', eventType: 'input' } as const;

interface Line {
  readonly line: number;
  readonly message: Message;
}

/** A user's file as a source: a bad line is named with its reason, and the others go on. */
export class MessageFileSource implements Source {
  readonly wanted = null;
  readonly #file: MessageFile;
  readonly #say: (...lines: string[]) => void;
  readonly #pool: pg.Pool;
  readonly #producer: Producer;
  #created = 0;
  #repeated = 0;
  #refused = 0;

  constructor(file: MessageFile, databaseUrl: string, redisUrl: string | null, say: (...lines: string[]) => void) {
    this.#file = file;
    this.#say = say;
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 1, application_name: 'example file' });
    this.#pool.on('error', () => undefined);
    this.#producer = createProducer({ tenant: TENANT, defaultRegion: 'IN', redisUrl });
  }

  get created(): number {
    return this.#created;
  }

  async run(closed: AbortSignal): Promise<void> {
    let batch: Line[] = [];
    for await (const line of readMessages(this.#file.read(), this.#file.format, DEFAULTS)) {
      if (closed.aborted) return;
      if (line.ok) batch.push(line);
      else this.#refuse(line.line, line.problems);
      if (batch.length < PER_TRANSACTION) continue;
      await this.#enqueue(batch);
      batch = [];
    }
    if (batch.length > 0) await this.#enqueue(batch);
  }

  report(): string[] {
    const parts = [`${this.#created} enqueued`, `${this.#repeated} repeated and kept once`, `${this.#refused} refused`];
    return [`${this.#file.name}: lines ${parts.join(', ')}`];
  }

  async close(): Promise<void> {
    await this.#producer.close();
    await this.#pool.end();
  }

  /** The lines and their messages in one transaction, so that a check can hold one against the other. */
  async #enqueue(lines: readonly Line[]): Promise<void> {
    const results = await this.#producer.transaction(this.#pool, async (tx) => {
      const reply = await this.#producer.enqueue(
        tx,
        lines.map(({ message }) => message),
        { onProblem: 'report' },
      );
      const taken = reply.results.filter(({ answer }) => answer === 'created');
      await tx.query(
        `insert into shop.input_lines (line, event_type, event_id, phone)
         select * from unnest($1::integer[], $2::text[], $3::text[], $4::text[])`,
        [
          taken.map(({ index }) => lines[index]?.line),
          taken.map(({ index }) => lines[index]?.message.event.type),
          taken.map(({ index }) => lines[index]?.message.event.id),
          taken.map(({ recipient }) => `+${recipient}`),
        ],
      );
      return reply.results;
    });
    for (const result of results) this.#note(lines[result.index]?.line ?? 0, result);
  }

  #note(line: number, result: EnqueueResult): void {
    switch (result.answer) {
      case 'created':
        this.#created++;
        break;
      case 'duplicate':
        this.#repeated++;
        this.#say(`line ${line}: the same event told the same person before; kept once`);
        break;
      case 'conflict':
      case 'invalid':
        this.#refuse(line, [{ field: fileField(result.field ?? 'line'), message: result.message ?? 'refused' }]);
    }
  }

  #refuse(line: number, problems: readonly { readonly field: string; readonly message: string }[]): void {
    this.#refused++;
    this.#say(
      ...problems.map(({ field, message }) => `line ${line}: ${field === 'line' ? '' : `${field}: `}${message}`),
    );
  }
}
