/** A machine that does not depend on the one the tests run on, and an environment on which the worker starts. */
import type { Machine } from '../../../src/config/program-reader.ts';
import { isServingError } from '../../../src/errors.ts';

export function machine(more: Partial<Machine> = {}): Machine {
  return {
    hostName: 'node-7.example',
    homeDir: '/home/someone',
    nowMs: Date.UTC(2026, 0, 1),
    readFile: () => {
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    },
    ...more,
  };
}

export const minimal = { KAFKA_BOOTSTRAP_SERVERS: 'localhost:9092' };

/** The problems that reading reports, one a line; empty when it succeeds. */
export function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!isServingError(error, 'CONFIG_INVALID')) throw error;
    return error.details.problems as readonly string[];
  }
}
