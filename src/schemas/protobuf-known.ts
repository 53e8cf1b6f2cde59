/**
 * Protobuf's own messages that stand for plain JSON: Struct, Value, ListValue, Timestamp and the wrappers, both ways, as in
 * the JSON form of Protobuf.
 */
import type protobuf from 'protobufjs';
import { isObject } from '../kafka/chunk-schema.ts';
import { undecodable } from './faults.ts';

type Message = Readonly<Record<string, unknown>>;
type Known = { readonly read: (message: Message) => unknown; readonly write: (value: unknown) => object };

const MAX_DEPTH = 64;

const wrapper: Known = {
  read: ({ value }) => (isWide(value) ? exactInteger(value) : value),
  write: (value) => ({ value }),
};

const known: Readonly<Record<string, Known>> = {
  Struct: { read: (message) => struct(message, 0), write: (value) => structMessage(value, 0) },
  Value: { read: (message) => anyValue(message, 0), write: (value) => valueMessage(value, 0) },
  ListValue: { read: (message) => list(message, 0), write: (value) => listMessage(value, 0) },
  Timestamp: { read: timestamp, write: timestampMessage },
  ...Object.fromEntries(
    ['String', 'Bool', 'Double', 'Float', 'Int32', 'UInt32', 'Int64', 'UInt64'].map((name) => [
      `${name}Value`,
      wrapper,
    ]),
  ),
};

/** Undefined for any other message. */
export function knownMessage(type: protobuf.Type): Known | undefined {
  const found = /^\.google\.protobuf\.(\w+)$/.exec(type.fullName)?.[1];
  return found !== undefined && Object.hasOwn(known, found) ? known[found] : undefined;
}

/** An integer of 64 bits, as protobufjs reads it. */
export function isWide(value: unknown): value is { toString(): string } {
  return typeof value === 'object' && value !== null && 'low' in value && 'high' in value;
}

/** As a string of digits where a number would be rounded. */
export function exactInteger(value: { toString(): string }): number | string {
  const digits = value.toString();
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
}

/** Fields of a decoded message that were on the wire; the others are on its prototype. */
function own(message: Message, name: string): unknown {
  return Object.hasOwn(message, name) ? message[name] : undefined;
}

function struct(message: Message, depth: number): object {
  const fields = own(message, 'fields');
  return Object.fromEntries(
    Object.entries((fields ?? {}) as Record<string, Message>).map(([name, value]) => [
      name,
      anyValue(value, depth + 1),
    ]),
  );
}

function list(message: Message, depth: number): unknown[] {
  return ((own(message, 'values') ?? []) as Message[]).map((value) => anyValue(value, depth + 1));
}

function anyValue(message: Message, depth: number): unknown {
  if (depth > MAX_DEPTH) throw undecodable(`is nested more than ${MAX_DEPTH} deep`);
  const number = own(message, 'numberValue');
  if (typeof number === 'number') return Number.isFinite(number) ? number : null;
  const held = own(message, 'structValue');
  if (held !== undefined) return struct(held as Message, depth);
  const listed = own(message, 'listValue');
  if (listed !== undefined) return list(listed as Message, depth);
  return own(message, 'stringValue') ?? own(message, 'boolValue') ?? null;
}

function structMessage(value: unknown, depth: number): object {
  if (!isObject(value)) throw undecodable('google.protobuf.Struct: an object was expected');
  const fields = Object.entries(value).map(([name, held]) => [name, valueMessage(held, depth + 1)]);
  return { fields: Object.fromEntries(fields) };
}

function listMessage(value: unknown, depth: number): object {
  if (!Array.isArray(value)) throw undecodable('google.protobuf.ListValue: an array was expected');
  return { values: value.map((held) => valueMessage(held, depth + 1)) };
}

function valueMessage(value: unknown, depth: number): object {
  if (depth > MAX_DEPTH) throw undecodable(`is nested more than ${MAX_DEPTH} deep`);
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { listValue: listMessage(value, depth) };
  return isObject(value) ? { structValue: structMessage(value, depth) } : { nullValue: 0 };
}

function timestamp(message: Message): string {
  const nanos = Number(own(message, 'nanos') ?? 0);
  const date = new Date(Number(own(message, 'seconds') ?? 0) * 1_000);
  if (Number.isNaN(date.getTime())) throw undecodable('holds a time that no calendar has');
  const fraction =
    nanos === 0
      ? ''
      : `.${String(nanos)
          .padStart(9, '0')
          .replace(/(000){1,2}$/, '')}`;
  return `${date.toISOString().slice(0, -5)}${fraction}Z`;
}

function timestampMessage(value: unknown): object {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms))
    throw undecodable('google.protobuf.Timestamp: a time such as 2026-03-01T12:00:00Z was expected');
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: (ms - seconds * 1_000) * 1_000_000 };
}
