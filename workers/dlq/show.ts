/** `rag-serving dlq show`: one letter with its headers. What the message says is shown by its shape, unless asked for. */
import type { Env } from '../../src/config/env-reader.ts';
import { ServingError } from '../../src/errors.ts';
import type { Letter } from '../../src/kafka/letter.ts';
import { readMarks } from '../../src/kafka/redrive.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { letterDetails, letterDetailsJson } from './letter-details.ts';
import { scan, withDlq } from './open.ts';

export type ShowFlags = { readonly showText?: true; readonly json?: true };
export type LetterPlace = { readonly partition: number; readonly offset: bigint };

export function runShow({ partition, offset }: LetterPlace, flags: ShowFlags, env: Env): Promise<ExitCode> {
  return withDlq(env, async (opened, signal) => {
    const marks = await readMarks(opened, signal);
    const all = { codes: [], sinceMs: undefined, untilMs: undefined, chunkIds: [], documentIds: [] };
    const filter = { ...all, partitions: [partition], offsets: { from: offset, to: offset } };
    const found: Letter[] = [];
    await scan(
      opened,
      filter,
      marks,
      async (letters) => {
        found.push(...letters);
        return 'enough';
      },
      signal,
    );
    const [letter] = found;
    if (letter === undefined) {
      const place = opened.bounds.get(partition);
      const there = place === undefined ? 'there is no such partition' : `it holds ${place.low} to ${place.end - 1n}`;
      const holds = place !== undefined && place.low >= place.end ? 'it is empty' : there;
      throw new ServingError(
        'ARGUMENT_INVALID',
        `no dead letter at ${partition}:${offset} of ${opened.deadLetterTopic}: ${holds}`,
      );
    }
    const showText = flags.showText === true;
    const mark = marks.of(letter);
    process.stdout.write(
      flags.json === true
        ? `${JSON.stringify(letterDetailsJson(letter, mark, showText))}\n`
        : letterDetails(letter, mark, showText),
    );
    return exitCodes.done;
  });
}
