/** The chaos run. `make test` runs its short form, `make chaos` the long one; see README.md beside this file. */
import { expect, it } from 'vitest';
import { ChaosRun } from './run.ts';
import { readSettings } from './settings.ts';

const settings = readSettings(process.env);
const START_MS = 5 * 60_000;
const A_ROUND_MS = 90_000;

it(
  `${settings.rounds} rounds of faults: nothing lost, stale, resurrected or wrong, and nothing left in /dev/shm`,
  async () => {
    const run = new ChaosRun(settings, (line) => process.stdout.write(`chaos ${settings.seed}: ${line}\n`));
    try {
      const { report, problems } = await run.run();
      expect(problems).toEqual([]);
      expect(report).toMatchObject({ lost: 0, stale: 0, resurrected: 0, wrongVectors: 0, shmFilesLeft: 0 });
      expect(report.rounds).toBe(settings.rounds);
    } finally {
      await run.close();
    }
  },
  START_MS + settings.rounds * A_ROUND_MS,
);
