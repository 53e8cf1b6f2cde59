/** The options that choose dead letters or retries, the same for every command that has them. */
import { type Command, InvalidArgumentError } from 'commander';
import { errorCodes } from '../../src/errors.ts';
import { MOMENT_FORMS, momentOf } from '../tool/moment.ts';
import { partitions } from '../tool/number-options.ts';
import { type LetterFilter, type OffsetSpan, parseSpan } from './filter.ts';

export type FilterFlags = {
  readonly code?: readonly string[];
  readonly since?: number;
  readonly until?: number;
  readonly chunk?: readonly string[];
  readonly document?: readonly string[];
  readonly partition?: readonly number[];
  readonly offset?: OffsetSpan;
};

/** @param what they choose, and whose partition and offset are meant */
export function addFilterOptions(command: Command, what: string, place: string, nowMs: () => number): Command {
  const moment = momentOf(nowMs);
  return command
    .option('--code <code>', `${what} of this error code; repeatable, or with commas`, codes)
    .option('--since <time>', `${what} from then on: ${MOMENT_FORMS}`, moment)
    .option('--until <time>', `${what} before then`, moment)
    .option('--chunk <id>', `${what} of this chunk; repeatable`, collect)
    .option('--document <id>', `${what} of this document; repeatable`, collect)
    .option('--partition <n>', `${what} of this partition of ${place}; repeatable`, partitions)
    .option('--offset <span>', `${what} at these offsets of ${place}: 7, 7..9, 7.. or ..9`, span);
}

export function filterOf(flags: FilterFlags): LetterFilter {
  return {
    codes: flags.code ?? [],
    sinceMs: flags.since,
    untilMs: flags.until,
    chunkIds: flags.chunk ?? [],
    documentIds: flags.document ?? [],
    partitions: flags.partition ?? [],
    offsets: flags.offset,
  };
}

function codes(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(',').map((one) => one.trim().toUpperCase());
  const unknown = given.filter((one) => !(errorCodes as readonly string[]).includes(one));
  // A code that is never met would list nothing, and nothing looks like good news.
  if (unknown.length > 0) throw new InvalidArgumentError(`Give codes such as CHUNK_INVALID, INFERENCE_REJECTED.`);
  return [...before, ...given];
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

function span(text: string): OffsetSpan {
  const parsed = parseSpan(text);
  if (parsed !== undefined) return parsed;
  throw new InvalidArgumentError('Give an offset or a span: 7, 7..9, 7.. or ..9.');
}
