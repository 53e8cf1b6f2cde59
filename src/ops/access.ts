/**
 * Who may read /metrics. Compares digests in constant time. When a request shows several credentials, all must be right:
 * a proxy that checked one of two headers must not have let the other through.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Header names and values in turns, as Node keeps them: the parsed object silently drops a second Authorization. */
export type RawHeaders = readonly string[];

const BEARER = /^bearer[ \t]+([\x21-\x7e]+)$/i;

export function mayRead(rawHeaders: RawHeaders, apiKey: string | undefined): boolean {
  if (apiKey === undefined) return true;
  const authorizations = valuesOf(rawHeaders, 'authorization');
  const keys = valuesOf(rawHeaders, 'x-api-key');
  if (authorizations.length > 1 || keys.length > 1) return false;
  const shown = [
    ...authorizations.map((value) => BEARER.exec(value.trim())?.[1]),
    ...keys.map((value) => value.trim()),
  ];
  return shown.length > 0 && shown.every((value) => value !== undefined && isEqual(value, apiKey));
}

function valuesOf(rawHeaders: RawHeaders, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

function isEqual(one: string, other: string): boolean {
  // Digests are of one length, so neither the comparison nor its refusal tells how long the key is.
  return timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest());
}
