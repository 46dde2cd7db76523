// A type import is enough to make this file a module that adds to vitest's types.
import type {} from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the fixtures find the server and the migrated template database. */
    sendledger: { adminUrl: string; template: string; postgresBinDir: string | null };
  }
}
