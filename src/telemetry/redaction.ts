/**
 * Makes anything safe to log: no user content, no secrets, bounded in size, and it never throws whatever it is given.
 *
 * Only plain objects, arrays, errors and simple values are opened; of anything else the class name is shown, because
 * foreign objects (sockets, commands, messages) carry payloads in places that no list of names can know.
 */
import { Secret } from '../config/secret.ts';
import { maskUrlCredentials } from '../config/url-masking.ts';
import { describeError } from './error-redaction.ts';
import { isForbiddenKey } from './redaction-keys.ts';
import { maskByForm } from './redaction-patterns.ts';

export type RedactorOptions = {
  /** Secrets in every spelling, longest first (`secretSpellings`); masked wherever they occur. */
  readonly secrets?: readonly string[];
};

export type Redactor = {
  /** A text without credentials, at most MAX_TEXT characters. */
  text(text: string): string;
  fields(fields: Readonly<Record<string, unknown>>): Record<string, unknown>;
  value(value: unknown): unknown;
};

export const REDACTED = '[redacted]';
const MAX_TEXT = 2_048;
/** Longer texts are cut before they are searched: masking must not cost seconds on a megabyte. */
const MAX_SEARCHED = 8_192;
const MAX_DEPTH = 6;
const MAX_KEYS = 64;
const MAX_ITEMS = 32;
/** More numbers in a row than this are taken for a vector. */
const MAX_NUMBERS = 16;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function createRedactor({ secrets = [] }: RedactorOptions = {}): Redactor {
  const maskText = (raw: string): string => {
    let text = raw.length > MAX_SEARCHED ? raw.slice(0, MAX_SEARCHED) : raw;
    for (const secret of secrets) if (text.includes(secret)) text = text.replaceAll(secret, REDACTED);
    return maskByForm(maskUrlCredentials(text));
  };
  const text = (raw: string): string => {
    const masked = maskText(raw);
    const whole = masked.length <= MAX_TEXT && raw.length <= MAX_SEARCHED;
    const shown = whole ? masked : `${masked.slice(0, MAX_TEXT)}… [cut, ${raw.length} characters]`;
    // A cut may split a pair, and a lone surrogate is refused by strict readers of the log.
    return shown.replace(LONE_SURROGATE, '\ufffd');
  };

  const walk = (value: unknown, depth: number, above: readonly object[]): unknown => {
    switch (typeof value) {
      case 'string':
        return text(value);
      case 'boolean':
      case 'undefined':
        return value;
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'bigint':
        return value.toString();
      case 'symbol':
      case 'function':
        return `[${typeof value}]`;
      case 'object':
        return value === null ? null : guarded(() => walkObject(value, depth, above));
    }
  };

  const walkObject = (value: object, depth: number, above: readonly object[]): unknown => {
    if (above.includes(value)) return '[circular]';
    if (value instanceof Secret) return value.toString();
    if (value instanceof URL) return text(value.href);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? '[invalid date]' : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[${nameOf(value)} of ${value.byteLength} bytes]`;
    if (depth >= MAX_DEPTH) return `[${nameOf(value)}]`;
    const inside = [...above, value];
    const deeper = (part: unknown): unknown => walk(part, depth + 1, inside);
    if (value instanceof Error)
      return describeError(value, { text, deeper, fields: (part) => walkFields(part, deeper) });
    if (Array.isArray(value)) return walkArray(value, deeper);
    return isPlain(value) ? walkFields(value, deeper) : `[${nameOf(value)}]`;
  };

  const walkArray = (array: readonly unknown[], deeper: (part: unknown) => unknown): unknown => {
    if (array.length > MAX_NUMBERS && typeof array[0] === 'number') return `[${array.length} numbers]`;
    const shown = array.slice(0, MAX_ITEMS).map(deeper);
    if (array.length > MAX_ITEMS) shown.push(`… ${array.length - MAX_ITEMS} more`);
    return shown;
  };

  const walkFields = (fields: object, deeper: (part: unknown) => unknown): Record<string, unknown> => {
    // No prototype: a field named __proto__ stays a field.
    const safe: Record<string, unknown> = Object.create(null);
    const keys = Object.keys(fields);
    for (const key of keys.slice(0, MAX_KEYS)) {
      const part = guarded(() => (fields as Record<string, unknown>)[key]);
      const name = maskText(key).slice(0, 64);
      if (part !== undefined) safe[name] = isForbiddenKey(key, part) ? REDACTED : deeper(part);
    }
    if (keys.length > MAX_KEYS) safe.omittedFields = keys.length - MAX_KEYS;
    return safe;
  };

  return {
    text,
    value: (value) => walk(value, 0, []),
    fields: (fields) => {
      const safe = guarded(() => walkFields(fields, (part) => walk(part, 1, [fields])));
      return typeof safe === 'string' ? { fields: safe } : safe;
    },
  };
}

/** Getters, proxies and revoked objects throw from anywhere; a log line must come out all the same. */
function guarded<T>(read: () => T): T | string {
  try {
    return read();
  } catch {
    return '[unreadable]';
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function nameOf(value: object): string {
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === 'string' && /^[A-Za-z_$][\w$]{0,63}$/.test(name) ? name : 'object';
}
