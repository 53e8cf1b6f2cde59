import avro from 'avsc';
import { describe, expect, it } from 'vitest';
import { decimalText } from '../../../src/schemas/avro-decimal.ts';
import { schemaCodec } from '../../../src/schemas/schema-codec.ts';

const codec = (schema: object | string, ...references: object[]) =>
  schemaCodec(
    {
      format: 'avro',
      text: JSON.stringify(schema),
      references: references.map((text) => ({ name: 'r', text: JSON.stringify(text) })),
    },
    'schema 1',
  );
const record = (name: string, ...fields: [name: string, type: unknown][]) => ({
  type: 'record',
  name,
  fields: fields.map(([field, type]) => ({ name: field, type })),
});
const bytesOf = (schema: object, value: unknown) => avro.Type.forSchema(schema as avro.Schema).toBuffer(value);

const CHUNK = record(
  'Chunk',
  ['chunk_id', 'string'],
  ['text', 'string'],
  ['tenant_id', ['null', 'string']],
  ['version', ['null', 'long']],
  ['metadata', { type: 'map', values: ['null', 'string', 'long', 'double', 'boolean'] }],
);

describe('an Avro value', () => {
  it('becomes the object that its JSON would give, unions without the names of their branches', () => {
    const wrapped = avro.Type.forSchema(CHUNK as avro.Schema, { wrapUnions: 'always' });
    const body = wrapped.toBuffer({
      chunk_id: 'doc-7#3',
      text: 'hé',
      tenant_id: { string: 'acme' },
      version: null,
      metadata: { lang: { string: 'en' }, page: { long: 3 }, score: { double: 0.5 }, ok: { boolean: true }, no: null },
    });
    expect(codec(CHUNK).decode(body)).toEqual({
      chunk_id: 'doc-7#3',
      text: 'hé',
      tenant_id: 'acme',
      metadata: { lang: 'en', page: 3, score: 0.5, ok: true, no: null },
    });
  });

  it('is a chunk or a batch, whichever fields are not null', () => {
    const schema = record(
      'Either',
      ['chunk_id', ['null', 'string']],
      ['chunks', ['null', { type: 'array', items: 'string' }]],
    );
    expect(codec(schema).decode(bytesOf(schema, { chunk_id: 'c', chunks: null }))).toEqual({ chunk_id: 'c' });
    expect(codec(schema).decode(bytesOf(schema, { chunk_id: null, chunks: ['x'] }))).toEqual({ chunks: ['x'] });
  });

  it('keeps integers exact: beyond 2^53 they are strings of digits', () => {
    const schema = record('R', ['a', 'long']);
    const long = avro.types.LongType.__with({
      fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
      toBuffer: (value: bigint) => {
        const buffer = Buffer.alloc(8);
        buffer.writeBigInt64LE(value);
        return buffer;
      },
      fromJSON: BigInt,
      toJSON: Number,
      isValid: (value: unknown) => typeof value === 'bigint',
      compare: () => 0,
    });
    const type = avro.Type.forSchema(schema as avro.Schema, { registry: { long } });
    for (const value of [
      0n,
      -1n,
      1n,
      63n,
      -64n,
      2n ** 31n,
      -(2n ** 47n),
      2n ** 53n - 1n,
      2n ** 53n,
      -(2n ** 63n),
      2n ** 63n - 1n,
    ]) {
      const expected = Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
      expect(codec(schema).decode(type.toBuffer({ a: value })), String(value)).toEqual({ a: expected });
    }
  });

  it('holds bytes as base64 in metadata, and as bytes where a text belongs', () => {
    const schema = record('R', ['text', 'bytes'], ['metadata', record('M', ['raw', 'bytes'], ['text', 'bytes'])]);
    const body = bytesOf(schema, {
      text: Buffer.from('x'),
      metadata: { raw: Buffer.from([1, 2]), text: Buffer.from('y') },
    });
    const value = codec(schema).decode(body) as { text: unknown; metadata: object };
    expect(value.text).toBeInstanceOf(Uint8Array);
    expect(value.metadata).toEqual({ raw: 'AQI=', text: 'eQ==' });
  });

  it('reads logical types as what is beneath, and a decimal as digits', () => {
    const schema = record(
      'R',
      ['version', { type: 'long', logicalType: 'timestamp-millis' }],
      ['price', { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 }],
      ['id', { type: 'string', logicalType: 'uuid' }],
    );
    const body = Buffer.concat([
      bytesOf(record('A', ['a', 'long']), { a: 1_700_000_000_000 }),
      Buffer.from([4, 0xff, 0x38]),
      Buffer.from([2, 0x61]),
    ]);
    expect(codec(schema).decode(body)).toEqual({ version: 1_700_000_000_000, price: '-2.00', id: 'a' });
    expect(decimalText(Buffer.from([0x05]), 3)).toBe('0.005');
    expect(decimalText(Buffer.from([]), 0)).toBe('0');
  });

  it('writes what it reads', () => {
    const schema = record(
      'R',
      ['chunk_id', 'string'],
      ['price', { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 }],
    );
    const made = codec(schema);
    for (const price of ['12.34', '-0.01', '0.00', '99999.99', '-128.00']) {
      expect(made.decode(made.encode({ chunk_id: 'c', price }))).toEqual({ chunk_id: 'c', price });
    }
    expect(() => made.encode({ chunk_id: 5, price: '1' })).toThrowError('value: does not fit the schema: chunk_id');
  });

  it('finds the types of the schemas that it refers to', () => {
    const meta = { ...record('Meta', ['lang', 'string']), namespace: 'a' };
    const schema = record('Chunk', ['chunk_id', 'string'], ['metadata', 'a.Meta']);
    const body = Buffer.concat([Buffer.from([2, 0x63]), Buffer.from([4, 0x65, 0x6e])]);
    expect(codec(schema, meta).decode(body)).toEqual({ chunk_id: 'c', metadata: { lang: 'en' } });
    expect(() => codec(schema)).toThrowError(/schema 1 is no usable avro schema/);
  });

  it('reads types that hold themselves, and a map key __proto__ is a key', () => {
    const schema = record(
      'Node',
      ['name', 'string'],
      ['next', ['null', 'Node']],
      ['m', { type: 'map', values: 'string' }],
    );
    const inner = [2, 0x62, 0, 0];
    const map = [2, 18, ...Buffer.from('__proto__'), 2, 0x78, 0];
    const value = codec(schema).decode(Uint8Array.from([2, 0x61, 2, ...inner, ...map])) as { m: object; next: object };
    expect(value.next).toEqual({ name: 'b', next: null, m: {} });
    expect(Object.keys(value.m)).toEqual(['__proto__']);
  });
});

describe('a body that does not fit', () => {
  const schema = record(
    'R',
    ['chunk_id', 'string'],
    ['a', { type: 'array', items: 'null' }],
    ['u', ['null', 'string']],
    ['b', 'boolean'],
  );
  const cases: { name: string; bytes: number[]; says: RegExp }[] = [
    { name: 'ends early', bytes: [10, 0x61], says: /ends in the middle/ },
    { name: 'is empty', bytes: [], says: /ends in the middle/ },
    { name: 'has bytes left over', bytes: [2, 0x61, 0, 0, 0, 9, 9], says: /2 bytes are left over/ },
    {
      name: 'announces four billion items without bytes',
      bytes: [2, 0x61, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0],
      says: /more items than it can hold/,
    },
    { name: 'names a branch that there is not', bytes: [2, 0x61, 0, 8, 0], says: /branch of a union/ },
    { name: 'has a boolean of 7', bytes: [2, 0x61, 0, 0, 7], says: /neither 0 nor 1/ },
    { name: 'has a string that is no UTF-8', bytes: [2, 0xff, 0, 0, 0], says: /not valid UTF-8/ },
    { name: 'has a negative length', bytes: [1, 0, 0, 0], says: /ends in the middle/ },
    { name: 'has an endless integer', bytes: Array.from({ length: 12 }, () => 0xff), says: /more than 64 bits/ },
  ];
  for (const { name, bytes, says } of cases) {
    it(`${name}: undecodable`, () => {
      expect(() => codec(schema).decode(Uint8Array.from(bytes))).toThrowError(says);
      expect(() => codec(schema).decode(Uint8Array.from(bytes))).toThrowError(
        expect.objectContaining({ code: 'VALUE_UNDECODABLE' }),
      );
    });
  }
});
