import { readdirSync, readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

const FOLDER = new URL('./migrations/', import.meta.url);

/** Made or granted by whoever migrates; everything else is made as the owner, so that nobody who logs in owns a table. */
const AS_MIGRATOR = new Set(['0001_roles', '0009_grants']);

/** Names of all migrations this build knows, in order. A database is current when it has run exactly these. */
export const MIGRATION_NAMES: readonly string[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.slice(0, -'.sql'.length))
  .sort();

/**
 * Raw SQL, one file each, run in order inside one transaction. The ORM's schema differ is never asked: it would drop the
 * partial indexes it cannot express.
 */
export function migrationsList() {
  return MIGRATION_NAMES.map((name) => {
    const body = readFileSync(new URL(`${name}.sql`, FOLDER), 'utf8');
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
