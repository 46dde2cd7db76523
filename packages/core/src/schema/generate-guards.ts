import { writeFileSync } from 'node:fs';
import { guardSql } from './transition-trigger.ts';

/** Writes the generated part of the schema. Run it after a change of the state table, and only while the migration that carries it is not released. */
export const GUARDS_FILE = new URL('./migrations/0005_transitions.sql', import.meta.url);

if (import.meta.main) writeFileSync(GUARDS_FILE, guardSql());
