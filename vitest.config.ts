import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{packages,apps,infra}/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Nothing here is judged by the clock; these only end a test that hangs.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    maxWorkers: 3,
  },
});
