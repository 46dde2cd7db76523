import { defineConfig } from 'vitest/config';

// Run by fixtures.test.ts only: the files end in .check.ts so that no other run picks them up.
export default defineConfig({ test: { include: ['*.check.ts'], globalSetup: ['./global-setup.ts'] } });
