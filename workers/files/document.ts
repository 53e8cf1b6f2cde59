/** A text file, read whole and cut into chunk messages. What cannot be read is told, with its place. */
import { readFile } from 'node:fs/promises';
import type { Input } from './inputs.ts';
import { documentMessages, type Prepared } from './message.ts';

const MAX_DOCUMENT_BYTES = 67_108_864;

export async function readDocument(input: Input, targetTokens: number): Promise<Prepared[]> {
  const bad = (problem: string): Prepared[] => [{ ok: false, origin: input.name, problem }];
  if (input.bytes > MAX_DOCUMENT_BYTES) return bad(`${input.bytes} bytes, more than 64 MiB`);
  let text: string;
  try {
    // Fatal: a document in another encoding would be embedded as gibberish. Takes away a byte order mark.
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(input.path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return bad(code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is no UTF-8 text' : `cannot be read (${code})`);
  }
  return documentMessages(input.name, text, targetTokens);
}
