import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';
import { MIGRATION_NAMES, MIGRATIONS_FOLDER } from './migration-names.ts';

/** Made or granted by whoever migrates; everything else is made as the owner, so that nobody who logs in owns a table. */
const AS_MIGRATOR = new Set(['0001_roles', '0009_grants']);

/**
 * Raw SQL, one file each, run in order inside one transaction. The ORM's schema differ is never asked: it would drop the
 * partial indexes it cannot express.
 */
export function migrationsList() {
  return MIGRATION_NAMES.map((name) => {
    const body = readFileSync(new URL(`${name}.sql`, MIGRATIONS_FOLDER), 'utf8');
    const sql = AS_MIGRATOR.has(name) ? body : `set local role sendledger_owner;\n${body}\nreset role;`;
    return {
      name,
      class: class extends Migration {
        override up(): void {
          this.addSql(sql);
        }
      },
    };
  });
}
