import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

// Some hundred processes of a run load the same modules: the first compiles them, the others read what it made.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/sendledger-compiled', import.meta.url));

export default defineConfig({
  test: {
    include: ['{packages,apps,infra}/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Nothing here is judged by the clock; these only end a test that hangs.
    testTimeout: 600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
});
