/**
 * Files as chunk messages: a document cut into them, a line of NDJSON as it stands. Pure.
 *
 * Each message goes through the decoder of the worker first, so that what the worker would send to the dead letters is
 * told here, with its line, and not sent.
 */
import { asServingError } from '../../src/errors.ts';
import { decodeMessage } from '../../src/kafka/decode.ts';
import type { RawMessage } from '../../src/records/chunk.ts';
import { splitText } from './split-text.ts';

export type Outgoing = {
  /** The document id: chunks of a document keep their order. */
  readonly key: string;
  readonly value: Uint8Array;
  readonly chunks: number;
  /** Where it came from, for messages about it: `notes.ndjson:17`. */
  readonly origin: string;
};

export type Prepared =
  | { readonly ok: true; readonly message: Outgoing }
  | { readonly ok: false; readonly origin: string; readonly problem: string };

/** Longer than any worker's limit: how long a text may be is the worker's setting. */
const MAX_TEXT_BYTES = 16_777_216;

/** The chunks of one document. `path` is its id; chunk ids are `path#n`, n from 0. */
export function documentMessages(path: string, text: string, targetTokens: number): Prepared[] {
  const title = titleOf(path, text);
  const metadata = title === undefined ? { path } : { path, title };
  return splitText(text, { targetTokens }).map((chunk, index) =>
    check(path, encode({ chunk_id: `${path}#${index}`, document_id: path, text: chunk, metadata }), `${path}#${index}`),
  );
}

/** The first heading of a Markdown document. */
function titleOf(path: string, text: string): string | undefined {
  if (!/\.(md|markdown)$/i.test(path)) return undefined;
  const heading = /^#{1,6}[ \t]+(\S.*)$/m
    .exec(text.slice(0, 65_536))?.[1]
    ?.replace(/[ \t]+#+[ \t]*$/, '')
    .trim();
  return heading === undefined || heading === '' ? undefined : [...heading].slice(0, 200).join('');
}

/** One line: a chunk message, a batch message, or `{text, …}`, which gets the ids that it lacks from file and line. */
export function lineMessage(file: string, lineNumber: number, line: Uint8Array): Prepared {
  const origin = `${file}:${lineNumber}`;
  let value = line;
  try {
    const json: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
    if (needsIds(json)) value = encode(withIds(json, file, lineNumber));
  } catch (error) {
    // JSON.parse quotes the line, so its message stays here.
    const problem = error instanceof SyntaxError ? 'is no JSON' : 'is no UTF-8';
    return { ok: false, origin, problem: `line of ${line.byteLength} bytes ${problem}` };
  }
  return check(undefined, value, origin);
}

export type WithoutIds = { readonly text: unknown; readonly document_id?: unknown };

/** A chunk that is just a text gets its ids from where it stands. */
export function withIds(json: WithoutIds, file: string, place: number): object {
  return { ...json, chunk_id: `${file}#${place}`, document_id: json.document_id ?? file };
}

export function needsIds(json: unknown): json is WithoutIds {
  return typeof json === 'object' && json !== null && 'text' in json && !('chunk_id' in json) && !('chunks' in json);
}

export function encode(message: object): Uint8Array {
  return Buffer.from(JSON.stringify(message), 'utf8');
}

function check(key: string | undefined, value: Uint8Array, origin: string): Prepared {
  const raw: RawMessage = {
    source: { topic: '', partition: 0, offset: 0n },
    key: key === undefined ? null : Buffer.from(key, 'utf8'),
    value,
    headers: [],
    timestampMs: 0,
  };
  const options = { maxTextBytes: MAX_TEXT_BYTES, oversizedText: 'reject', keepUnknownFields: false } as const;
  const records = decodeMessage(raw, options, () => {});
  let documentId: string | undefined;
  for (const record of records) {
    if (record.kind === 'reject') {
      const where = record.index === undefined ? '' : `chunk ${record.index}: `;
      return { ok: false, origin, problem: `${where}${asServingError(record.error).message}` };
    }
    if (record.kind === 'chunk') documentId ??= record.chunk.documentId;
  }
  if (documentId === undefined) return { ok: false, origin, problem: 'holds no chunk' };
  return { ok: true, message: { key: key ?? documentId, value, chunks: records.length, origin } };
}
