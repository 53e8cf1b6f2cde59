/** `rag-serving dlq stats`: how many letters there are, by code, stage, age, partition, origin and replays. */
import type { Env } from '../../src/config/env-reader.ts';
import { readMarks } from '../../src/kafka/redrive.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { type FilterFlags, filterOf } from '../letters/filter-options.ts';
import { type ListFlags, replayedOf } from './list.ts';
import { scan, withDlq } from './open.ts';
import { Tally } from './tally.ts';

export type StatsFlags = FilterFlags & Pick<ListFlags, 'json' | 'pending' | 'replayed'>;

export function runStats(flags: StatsFlags, env: Env): Promise<ExitCode> {
  return withDlq(env, async (opened, signal) => {
    const marks = await readMarks(opened, signal);
    const tally = new Tally();
    const filter = { ...filterOf(flags), replayed: replayedOf(flags) };
    await scan(
      opened,
      filter,
      marks,
      async (letters) => {
        for (const letter of letters) tally.add(letter, marks.of(letter), Date.now());
        return 'more';
      },
      signal,
    );
    const { deadLetterTopic, bounds } = opened;
    const said =
      flags.json === true ? `${JSON.stringify(tally.json(deadLetterTopic, bounds))}\n` : tally.text(deadLetterTopic);
    process.stdout.write(said);
    return exitCodes.done;
  });
}
