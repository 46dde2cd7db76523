import { randomBytes } from 'node:crypto';
import type { LocalPostgres } from './postgres.ts';

/**
 * Starts `postgres:18` in Docker. Testcontainers' own reaper removes the container when this process dies.
 * @throws Error as testcontainers puts it when there is no Docker.
 */
export async function startPostgresContainer(settings: Record<string, string> = {}): Promise<LocalPostgres> {
  // Loaded only here: it is large, and most machines never need it.
  const { GenericContainer, Wait } = await import('testcontainers');
  const password = randomBytes(12).toString('hex');
  const defaults = { max_connections: '300', shared_buffers: '256MB', timezone: 'UTC' };
  const flags = Object.entries({ ...defaults, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const container = await new GenericContainer('postgres:18')
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(['postgres', ...flags])
    .withExposedPorts(5432)
    // The image starts the server twice: once to initialise, once to serve.
    .withWaitStrategy(Wait.forLogMessage('database system is ready to accept connections', 2))
    .start();
  let stopping: Promise<unknown> | undefined;
  return {
    url: `postgres://postgres:${password}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`,
    source: 'docker',
    dataDir: null,
    binDir: null,
    async stop() {
      stopping ??= container.stop();
      await stopping;
    },
  };
}
