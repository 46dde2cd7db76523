export * from './entities.ts';
export { type MigrateResult, migrate } from './migrate.ts';
export { MIGRATION_NAMES } from './migration-names.ts';
export { readServerFacts, type ServerFacts } from './server-facts.ts';
