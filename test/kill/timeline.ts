import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const LOST = 'kill_lost';
const COPY = 'kill_copy';
const LOOK_EVERY_MS = 10;

/**
 * A database that is restored to an earlier moment. Within one cluster and one timeline of it, so that nothing tells: whatever is
 * compared with cluster and timeline passes, and ids that were given out are given out again.
 */
export class Timeline {
  readonly #adminUrl: string;
  readonly #name: string;

  constructor(adminUrl: string, name: string) {
    this.#adminUrl = adminUrl;
    this.#name = name;
  }

  /** Keeps the database as it is now, for {@link restore}. Every connection is ended for it. */
  async keep(): Promise<void> {
    await this.#alone(async (client) => {
      await client.query(`drop database if exists ${COPY}`);
      await client.query(`create database ${COPY} template ${this.#name}`);
    });
  }

  /** What was committed since is lost. Every connection is ended. */
  async restore(): Promise<void> {
    await this.#alone(async (client) => {
      await client.query(`alter database ${this.#name} rename to ${LOST}`);
      await client.query(`alter database ${COPY} rename to ${this.#name}`);
      await client.query(`drop database ${LOST}`);
    });
  }

  async #alone(work: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: this.#adminUrl });
    await client.connect();
    try {
      await client.query(`alter database ${this.#name} allow_connections false`);
      for (;;) {
        const { rowCount } = await client.query(
          'select pg_terminate_backend(a.pid) from pg_stat_activity a where a.datname = $1',
          [this.#name],
        );
        if (rowCount === 0) break;
        await sleep(LOOK_EVERY_MS);
      }
      await work(client);
      await client.query(`alter database ${this.#name} allow_connections true`);
    } finally {
      await client.end();
    }
  }
}
