/** A value that is plain JSON. A byte order mark is skipped; what is not UTF-8 is refused, for it would embed another text. */
import { isUtf8 } from 'node:buffer';
import { ServingError } from '../errors.ts';

/** Throws CHUNK_INVALID, which never quotes the value. */
export function readJson(value: Uint8Array): unknown {
  if (value.byteLength === 0) throw invalid('value: zero bytes; a deletion has a null value');
  if (!isUtf8(value)) throw invalid(`value: not valid UTF-8 (${value.byteLength} bytes)`);
  const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    // The engine's message quotes the input, so it goes no further.
    throw invalid(`value: not JSON (${value.byteLength} bytes)`);
  }
}

function invalid(message: string): ServingError {
  return new ServingError('CHUNK_INVALID', message);
}
