import { describe, expect, it } from 'vitest';
import { fieldProblems } from '../../../src/schemas/chunk-fields.ts';
import type { SchemaFormat } from '../../../src/schemas/codec.ts';
import { schemaCodec } from '../../../src/schemas/schema-codec.ts';
import { checkSubject } from '../../../src/schemas/subject-check.ts';

const problems = (format: SchemaFormat, text: string) =>
  fieldProblems(schemaCodec({ format, text, references: [] }, 's'));
const avro = (fields: Record<string, unknown>) =>
  JSON.stringify({ type: 'record', name: 'C', fields: Object.entries(fields).map(([name, type]) => ({ name, type })) });

const cases: { name: string; format: SchemaFormat; text: string; problems: string[] }[] = [
  {
    name: 'Avro that fits',
    format: 'avro',
    text: avro({
      chunk_id: 'string',
      text: ['null', 'string'],
      version: { type: 'long', logicalType: 'timestamp-millis' },
      metadata: { type: 'map', values: 'string' },
    }),
    problems: [],
  },
  {
    name: 'Avro of a batch',
    format: 'avro',
    text: avro({ document_id: 'string', chunks: { type: 'array', items: 'string' } }),
    problems: [],
  },
  {
    name: 'Avro without the fields',
    format: 'avro',
    text: avro({ id: 'string' }),
    problems: ['chunk_id: the schema has no such field', 'text: the schema has no such field'],
  },
  {
    name: 'Avro of a bare string',
    format: 'avro',
    text: '"string"',
    problems: ['chunk_id: the schema has no such field', 'text: the schema has no such field'],
  },
  {
    name: 'Avro of other types',
    format: 'avro',
    text: avro({ chunk_id: 'long', text: 'bytes', version: 'double', metadata: 'string' }),
    problems: [
      'chunk_id: a string is needed, the schema has an integer',
      'text: a string is needed, the schema has bytes',
      'version: an integer is needed, the schema has a number',
      'metadata: an object is needed, the schema has a string',
    ],
  },
  {
    name: 'Protobuf that fits',
    format: 'protobuf',
    text: 'syntax = "proto3"; message C { string chunk_id = 1; string text = 2; int64 version = 3; map<string, string> metadata = 4; }',
    problems: [],
  },
  {
    name: 'Protobuf in camel case',
    format: 'protobuf',
    text: 'syntax = "proto3"; message C { string chunkId = 1; bytes text = 2; }',
    problems: ['chunk_id: the schema has no such field', 'text: a string is needed, the schema has bytes'],
  },
  {
    name: 'JSON Schema that fits, by a reference',
    format: 'json-schema',
    text: '{"$ref":"#/definitions/C","definitions":{"C":{"type":"object","properties":{"chunk_id":{"type":"string"},"text":{"type":["string","null"]}}}}}',
    problems: [],
  },
  {
    name: 'JSON Schema with a number',
    format: 'json-schema',
    text: '{"properties":{"chunk_id":{"type":"number"},"text":{"type":"string"}}}',
    problems: ['chunk_id: a string is needed, the schema has a number'],
  },
  {
    name: 'JSON Schema that leaves its fields open',
    format: 'json-schema',
    text: '{"oneOf":[{"type":"object"}]}',
    problems: [],
  },
];

describe('fieldProblems', () => {
  for (const { name, format, text, problems: expected } of cases) {
    it(name, () => expect(problems(format, text)).toEqual(expected));
  }
});

describe('checkSubject', () => {
  const latest = {
    id: 4,
    version: 2,
    schema: { format: 'avro' as const, text: avro({ chunk_id: 'long' }), references: [] },
  };

  it('says all that is wrong with the fields at once', () => {
    expect(() => checkSubject('t-value', latest, 'avro')).toThrowError(
      'subject t-value (version 2, schema 4) describes no chunk message:\n- text: the schema has no such field\n- chunk_id: a string is needed, the schema has an integer',
    );
  });
  it('names a subject that is not there, and one of another language', () => {
    expect(() => checkSubject('t-value', undefined, 'avro')).toThrowError(/subject t-value does not exist/);
    expect(() => checkSubject('t-value', latest, 'protobuf')).toThrowError(
      /is avro, and KAFKA_VALUE_FORMAT is protobuf/,
    );
  });
});
