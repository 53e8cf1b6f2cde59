/** What is asked: the argument, or the lines of standard input, one after the other. Blank lines are left out. */
import { createInterface } from 'node:readline';
import { ServingError } from '../../src/errors.ts';

export async function* queriesOf(query: string | undefined, signal: AbortSignal): AsyncGenerator<string> {
  if (query !== undefined) {
    if (query.trim() === '') throw new ServingError('ARGUMENT_INVALID', 'the query is blank');
    yield query;
    return;
  }
  if (process.stdin.isTTY === true) {
    throw new ServingError('ARGUMENT_INVALID', 'there is no query: give one, or lines on standard input');
  }
  const lines = createInterface({ input: process.stdin, signal });
  try {
    for await (const line of lines) if (line.trim() !== '') yield line;
  } finally {
    lines.close();
    process.stdin.destroy();
  }
}
