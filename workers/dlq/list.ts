/** `rag-serving dlq list`: the letters that are meant, as a table or as one JSON object a line. */
import type { Env } from '../../src/config/env-reader.ts';
import type { Letter } from '../../src/kafka/letter.ts';
import { readMarks } from '../../src/kafka/redrive.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { type FilterFlags, filterOf } from '../letters/filter-options.ts';
import { table } from '../tool/table.ts';
import { LETTER_HEAD, letterJson, letterRow } from './letter-line.ts';
import { scan, withDlq } from './open.ts';

export type ListFlags = FilterFlags & {
  readonly limit?: number;
  readonly json?: true;
  readonly pending?: true;
  readonly replayed?: true;
};

/** A table is for eyes. */
const TABLE_LIMIT = 100;

export function runList(flags: ListFlags, env: Env): Promise<ExitCode> {
  return withDlq(env, async (opened, signal) => {
    const limit = flags.limit ?? (flags.json === true ? Number.POSITIVE_INFINITY : TABLE_LIMIT);
    const marks = await readMarks(opened, signal);
    const filter = { ...filterOf(flags), replayed: replayedOf(flags) };
    const rows: (readonly (string | undefined)[])[] = [];
    let listed = 0;
    let more = false;
    const take = async (letters: readonly Letter[]) => {
      for (const letter of letters) {
        if (listed >= limit) {
          more = true;
          return 'enough' as const;
        }
        listed++;
        const mark = marks.of(letter);
        if (flags.json === true) process.stdout.write(`${JSON.stringify(letterJson(letter, mark))}\n`);
        else rows.push(letterRow(letter, mark, Date.now()));
      }
      return 'more' as const;
    };
    await scan(opened, filter, marks, take, signal);
    if (flags.json === true) return exitCodes.done;
    if (listed > 0) process.stdout.write(table(LETTER_HEAD, rows));
    const said = `${listed} dead letters of ${opened.deadLetterTopic}`;
    process.stderr.write(more ? `the first ${said}; there are more: raise --limit, or choose\n` : `${said}\n`);
    return exitCodes.done;
  });
}

/** Both of the two is none of the two: every letter. */
export function replayedOf({ pending, replayed }: Pick<ListFlags, 'pending' | 'replayed'>): boolean | undefined {
  if (pending === replayed) return undefined;
  return replayed === true;
}
