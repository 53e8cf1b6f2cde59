/** Inputs as prepared messages, one after another; nothing is read ahead of what is asked for but one document. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Input } from './inputs.ts';
import { linesOf } from './lines.ts';
import { documentMessages, lineMessage, type Prepared } from './message.ts';

export type Read = {
  readonly prepared: Prepared;
  /** Bytes of this input consumed up to here, more or less. */
  readonly readBytes: number;
};

/** A document is read whole. */
const MAX_DOCUMENT_BYTES = 67_108_864;

export async function* readInput(input: Input, targetTokens: number): AsyncGenerator<Read> {
  if (input.kind === 'lines') yield* readLines(input);
  else yield* readDocument(input, targetTokens);
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

async function* readDocument(input: Input, targetTokens: number): AsyncGenerator<Read> {
  const bad = (problem: string): Read => ({
    prepared: { ok: false, origin: input.name, problem },
    readBytes: input.bytes,
  });
  if (input.bytes > MAX_DOCUMENT_BYTES) return void (yield bad(`${input.bytes} bytes, more than 64 MiB`));
  let text: string;
  try {
    // Fatal: a document in another encoding would be embedded as gibberish. Takes away a byte order mark.
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(input.path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return void (yield bad(
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is no UTF-8 text' : `cannot be read (${code})`,
    ));
  }
  const messages = documentMessages(input.name, text, targetTokens);
  for (const [index, prepared] of messages.entries()) {
    yield { prepared, readBytes: Math.round((input.bytes * (index + 1)) / messages.length) };
  }
}
