export { createDatabase, dropDatabase, urlFor } from './database.ts';
export { LocalServiceError } from './errors.ts';
export { freePort } from './free-port.ts';
export { type GlobalSetup, setup } from './global-setup.ts';
export { type EmbeddedPostgres, type LocalPostgres, type PostgresOptions, startPostgres } from './postgres.ts';
export { findRedis, type LocalRedis, type RedisOptions, startRedis } from './redis.ts';
export { createTemplate, dropTemplate } from './template.ts';
export { cloneTemplate, type TestDatabase } from './test-database.ts';
