import { defineConfig } from 'vitest/config';

/** Unit tests need nothing; contract, integration, chaos and benchmark bring up the local stack themselves. */
const slow = { testTimeout: 120_000, hookTimeout: 180_000 } as const;
const oneAtATime = { ...slow, fileParallelism: false } as const;

/**
 * Integration tests mostly wait, so two files run at once: each has servers, ports, topics and worker ids of its own. These
 * look at the whole machine (temp folders of Triton, its memory, its processes, its time) and run alone afterwards.
 */
const alone = [
  'test/integration/stack*.test.ts',
  'test/integration/worker/memory.test.ts',
  'test/integration/worker/volume.test.ts',
  'test/integration/worker/watchdog.test.ts',
];

/** Projects that run at different widths must not run at once; vitest wants that said. */
const group = (groupOrder: number) => ({ sequence: { groupOrder } });

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'test/architecture.test.ts'],
          testTimeout: 20_000,
          ...group(1),
        },
      },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'], ...oneAtATime, ...group(2) } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: alone,
          maxWorkers: 2,
          ...slow,
          ...group(3),
        },
      },
      { test: { name: 'integration-alone', include: alone, ...oneAtATime, ...group(4) } },
      { test: { name: 'chaos', include: ['test/chaos/**/*.test.ts'], ...oneAtATime, ...group(5) } },
      { test: { name: 'benchmark', include: ['test/benchmark/**/*.test.ts'], ...oneAtATime, ...group(6) } },
    ],
  },
});
