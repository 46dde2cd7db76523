import { freePort } from './free-port.ts';
import type { LocalRedis } from './redis.ts';

/**
 * Starts `redis:8` in Docker on a fixed host port, so that a restart keeps the URL. Testcontainers' own reaper removes
 * the container when this process dies.
 * @throws Error as testcontainers puts it when there is no Docker.
 */
export async function startRedisContainer(): Promise<LocalRedis> {
  // Loaded only here: it is large, and most machines never need it.
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer('redis:8')
    .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'])
    .withExposedPorts({ container: 6379, host: await freePort() })
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .start();
  let stopping: Promise<unknown> | undefined;
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    source: 'docker',
    pid: null,
    async kill() {
      await container.stop({ remove: false, removeVolumes: false, timeout: 0 });
    },
    async restart() {
      await container.restart({ timeout: 0 });
    },
    async stop() {
      stopping ??= container.stop({ timeout: 0 });
      await stopping;
    },
  };
}
