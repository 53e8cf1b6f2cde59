/** Inputs as prepared messages, one after another; nothing is read ahead of what is asked for but one document. */
import { createReadStream } from 'node:fs';
import { readDocument } from '../files/document.ts';
import type { Input } from '../files/inputs.ts';
import { linesOf } from '../files/lines.ts';
import { lineMessage, type Prepared } from '../files/message.ts';

export type Read = {
  readonly prepared: Prepared;
  /** Bytes of this input consumed up to here, more or less. */
  readonly readBytes: number;
};

export async function* readInput(input: Input, targetTokens: number): AsyncGenerator<Read> {
  if (input.kind === 'lines') yield* readLines(input);
  else {
    const messages = await readDocument(input, targetTokens);
    for (const [index, prepared] of messages.entries()) {
      yield { prepared, readBytes: Math.round((input.bytes * (index + 1)) / messages.length) };
    }
  }
}

async function* readLines(input: Input): AsyncGenerator<Read> {
  const stream = createReadStream(input.path, { highWaterMark: 262_144 });
  for await (const { number, bytes } of linesOf(stream)) {
    const prepared: Prepared =
      bytes === undefined
        ? { ok: false, origin: `${input.name}:${number}`, problem: 'line is longer than 16 MiB' }
        : lineMessage(input.name, number, bytes);
    yield { prepared, readBytes: stream.bytesRead };
  }
}
