/**
 * Kafka record headers as a list of name and bytes, and back to what kafkajs takes.
 *
 * kafkajs keeps headers in a plain object: a repeated name becomes an array, and names that objects inherit
 * (`constructor`, `toString`, `__proto__`) arrive as an array whose first entry is the inherited thing. Rules here:
 * all occurrences are kept in their order, what is no bytes is dropped, and a reader of ONE value takes the last.
 */
import type { IHeaders } from 'kafkajs';
import type { RawMessage } from '../records/chunk.ts';

export type HeaderList = RawMessage['headers'];

/** Names in the order kafkajs gives them; occurrences of one name keep the order of the record. */
export function headerList(headers: Readonly<Record<string, unknown>> | undefined): HeaderList {
  if (headers === undefined) return [];
  return Object.keys(headers).flatMap((name) => {
    const value = headers[name];
    const values = Array.isArray(value) ? value : [value];
    return values.flatMap((one) => {
      const bytes = headerBytes(one);
      return bytes === undefined ? [] : [[name, bytes] as const];
    });
  });
}

/** The last value of a header as text; undefined when there is none or it is null. Invalid UTF-8 becomes U+FFFD. */
export function headerText(headers: HeaderList, name: string): string | undefined {
  const found = headers.findLast(([one]) => one === name)?.[1];
  if (found === undefined || found === null) return undefined;
  return Buffer.from(found.buffer, found.byteOffset, found.byteLength).toString('utf8');
}

/**
 * Headers for a record to produce. A null value goes out as zero bytes, for kafkajs cannot encode null; occurrences of
 * one name end up next to each other.
 */
export function kafkaHeaders(headers: HeaderList): IHeaders {
  const byName = new Map<string, Buffer[]>();
  for (const [name, value] of headers) {
    const bytes = value === null ? Buffer.alloc(0) : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const before = byName.get(name);
    if (before === undefined) byName.set(name, [bytes]);
    else before.push(bytes);
  }
  // fromEntries defines own properties, so that even `__proto__` is a name like any other.
  return Object.fromEntries(Array.from(byName, ([name, values]) => [name, values.length === 1 ? values[0]! : values]));
}

function headerBytes(value: unknown): Uint8Array | null | undefined {
  if (value === null) return null;
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : undefined;
}
