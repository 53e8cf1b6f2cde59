import { defineConfig } from 'vitest/config';

/** Unit tests need nothing; contract, integration, chaos and benchmark bring up the local stack themselves. */
const slow = { testTimeout: 120_000, hookTimeout: 180_000, fileParallelism: false } as const;

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts', 'test/architecture.test.ts'], testTimeout: 20_000 } },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'], ...slow } },
      { test: { name: 'integration', include: ['test/integration/**/*.test.ts'], ...slow } },
      { test: { name: 'chaos', include: ['test/chaos/**/*.test.ts'], ...slow } },
      { test: { name: 'benchmark', include: ['test/benchmark/**/*.test.ts'], ...slow } },
    ],
  },
});
