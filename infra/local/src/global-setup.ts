import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import './provided-context.ts';
import { memoryFolder } from './memory-folder.ts';
import { startPostgres } from './postgres.ts';
import { createTemplate, dropTemplate } from './template.ts';

/** What vitest calls before all tests; the function it answers is called after them. */
export type GlobalSetup = (project: Pick<TestProject, 'provide'>) => Promise<() => Promise<void>>;

/**
 * A vitest global setup: finds or starts Postgres, migrates a template database once, tells the fixtures about it, and
 * removes all of it at the end.
 *
 * ```ts
 * export default setup(async (url) => { await migrate(url); });
 * ```
 * @param migrate builds the schema in the empty database of `url`; must close its connections.
 * @param settings server settings for a server that is started here.
 */
export function setup(
  migrate: (url: string) => Promise<void>,
  options: { settings?: Record<string, string> } = {},
): GlobalSetup {
  return async (project) => {
    // Nobody cuts the power of this server: tests that do start one of their own, on a disk.
    const folder = await memoryFolder();
    const postgres = await startPostgres({ ...options, ...(folder === null ? {} : { folder }) });
    const template = `sendledger_template_${randomBytes(4).toString('hex')}`;
    try {
      await createTemplate(postgres.url, template, migrate);
    } catch (error) {
      await postgres.stop();
      throw error;
    }
    project.provide('sendledger', { adminUrl: postgres.url, template, postgresBinDir: postgres.binDir });
    return async () => {
      // A server of ours goes as a whole; a given one keeps nothing of ours.
      if (postgres.source === 'environment') await dropTemplate(postgres.url, template);
      await postgres.stop();
    };
  };
}
