import { writeFileSync } from 'node:fs';
import { ERRORS } from './errors.ts';

export const ERROR_REFERENCE = new URL('../../../../docs/reference/errors.md', import.meta.url);

/** The page that is generated from the catalogue; a test fails when it is stale. */
export function errorReference(): string {
  const entries = Object.entries(ERRORS).map(
    ([code, { what, remedy }]) => `## ${code}\n\n${what}\n\n**Do:** ${remedy}\n`,
  );
  return `# Errors\n\nGenerated from \`packages/core/src/domain/errors.ts\`. A code is stable; programs may branch on it.\n\n${entries.join('\n')}`;
}

if (import.meta.main) writeFileSync(ERROR_REFERENCE, errorReference());
