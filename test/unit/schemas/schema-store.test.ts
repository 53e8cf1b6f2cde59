import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { RegisteredSchema } from '../../../src/schemas/codec.ts';
import { SchemaStore } from '../../../src/schemas/schema-store.ts';
import { SchemaValueReader } from '../../../src/schemas/schema-value-reader.ts';
import { framed } from '../../../src/schemas/wire-format.ts';

const JSON_SCHEMA: RegisteredSchema = { format: 'json-schema', text: '{}', references: [] };
const away = new ServingError('SCHEMA_REGISTRY_UNAVAILABLE', 'away');

function storeOf(answers: (RegisteredSchema | undefined | ServingError)[], maxSchemas = 10) {
  const log: string[] = [];
  let nowMs = 0;
  const store = new SchemaStore({
    client: {
      schemaById: async (id) => {
        log.push(`ask ${id}`);
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof ServingError) throw answer;
        return answer;
      },
      askElsewhere: () => void log.push('elsewhere'),
    },
    clock: { monotonicMs: () => nowMs, wallMs: () => nowMs },
    maxSchemas,
    unusableTtlMs: 60_000,
    confirmMs: 1,
    backoff: { baseMs: 1, maxMs: 1 },
    onTrouble: ({ code }) => void log.push(code),
    onWell: () => void log.push('well'),
  });
  return { store, log, later: (ms: number) => (nowMs += ms) };
}

describe('SchemaStore', () => {
  it('asks once for an id, however many wait for it', async () => {
    const { store, log } = storeOf([JSON_SCHEMA]);
    await Promise.all([store.fetch(7), store.fetch(7), store.fetch(7)]);
    expect(log).toEqual(['ask 7', 'well']);
    expect(store.get(7)).toMatchObject({ format: 'json-schema' });
  });

  it('goes on asking while the registry is away, and gives no verdict', async () => {
    const { store, log } = storeOf([away, away, JSON_SCHEMA]);
    const fetching = store.fetch(7);
    expect(store.get(7)).toBeUndefined();
    await fetching;
    expect(log).toEqual(['ask 7', away.code, 'ask 7', away.code, 'ask 7', 'well']);
  });

  it('believes that an id is unknown when it is said twice, and asks again after a while', async () => {
    const { store, log, later } = storeOf([undefined]);
    await store.fetch(7);
    expect(log).toEqual(['ask 7', 'well', 'elsewhere', 'ask 7', 'well']);
    expect(store.get(7)).toMatchObject({ code: 'SCHEMA_UNKNOWN', failureClass: 'chunk' });
    later(59_999);
    expect(store.get(7)).toBeDefined();
    later(1);
    expect(store.get(7)).toBeUndefined();
  });

  it('finds a schema that a replica did not know of yet', async () => {
    const { store } = storeOf([undefined, JSON_SCHEMA]);
    await store.fetch(7);
    expect(store.get(7)).toMatchObject({ format: 'json-schema' });
  });

  it('keeps a schema that nobody can use as a verdict of class chunk', async () => {
    const { store } = storeOf([{ format: 'avro', text: '{"type":"nonsense"}', references: [] }]);
    await store.fetch(7);
    expect(store.get(7)).toMatchObject({ code: 'SCHEMA_INVALID', failureClass: 'chunk' });
  });

  it('passes on what no waiting mends, and rejects with an outage once closed', async () => {
    const denied = new ServingError('SCHEMA_REGISTRY_ACCESS_DENIED', 'no');
    await expect(storeOf([denied]).store.fetch(7)).rejects.toBe(denied);
    const { store } = storeOf([away]);
    const fetching = store.fetch(7);
    store.close();
    await expect(fetching).rejects.toMatchObject({ failureClass: 'outage' });
  });

  it('holds no more schemas than it may', async () => {
    const { store } = storeOf([JSON_SCHEMA], 2);
    for (const id of [1, 2, 3]) await store.fetch(id);
    expect([1, 2, 3].map((id) => store.get(id) !== undefined)).toEqual([false, true, true]);
  });
});

describe('SchemaValueReader', () => {
  const json = Buffer.from('{"chunk_id":"c"}');

  it('auto: reads plain JSON at once and framed values once their schema is there', async () => {
    const reader = new SchemaValueReader('auto', storeOf([JSON_SCHEMA]).store);
    expect(reader.canRead(json)).toBe(true);
    expect(reader.read(json)).toEqual({ chunk_id: 'c' });
    const value = framed(7, json);
    expect(reader.canRead(value)).toBe(false);
    await reader.prepare(value);
    expect(reader.canRead(value)).toBe(true);
    expect(reader.read(value)).toEqual({ chunk_id: 'c' });
  });

  it('refuses a value without a schema id and one of another language, each by name', async () => {
    const reader = new SchemaValueReader('avro', storeOf([JSON_SCHEMA]).store);
    expect(() => reader.read(json)).toThrowError(/no schema id before it/);
    await reader.prepare(framed(7, json));
    expect(() => reader.read(framed(7, json))).toThrowError(
      'value: schema 7 is json-schema, and KAFKA_VALUE_FORMAT is avro',
    );
    expect(() => reader.read(new Uint8Array())).toThrowError(/zero bytes/);
  });

  it('stops waiting when the signal says so', async () => {
    const { store } = storeOf([away]);
    const reader = new SchemaValueReader('avro', store);
    await expect(reader.prepare(framed(7, json), AbortSignal.timeout(5))).rejects.toMatchObject({
      failureClass: 'outage',
    });
    store.close();
  });
});
