import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { schemaCodec } from '../../../src/schemas/schema-codec.ts';

const CHUNK = `
syntax = "proto3";
package acme.rag;
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Kind { PLAIN = 0; TABLE = 1; }
message Other { message Inner { string text = 1; } string name = 1; }
message Chunk {
  string chunk_id = 1;
  string text = 2;
  optional string tenant_id = 3;
  int64 version = 4;
  google.protobuf.Struct metadata = 5;
  Kind kind = 6;
  bytes raw = 7;
  map<string, int64> counts = 8;
  google.protobuf.Timestamp at = 9;
  google.protobuf.StringValue note = 10;
  repeated string tags = 11;
}`;
const codec = (text: string, ...references: { name: string; text: string }[]) =>
  schemaCodec({ format: 'protobuf', text, references }, 'schema 1');

/** As another producer would write it, by protobufjs's own root. */
function foreign(text: string, type: string, value: object): Uint8Array {
  const found = protobuf.parse(text, new protobuf.Root(), { keepCase: true }).root.lookupType(type);
  return found.encode(found.fromObject(value)).finish();
}

describe('a Protobuf value', () => {
  it('becomes the object that its JSON form gives, well-known types included, and is written back', () => {
    const value = {
      chunk_id: 'doc-7#3',
      text: 'hé',
      tenant_id: 'acme',
      version: 12,
      metadata: { lang: 'en', page: 3, deep: { list: [1, 'a', null, true] } },
      kind: 'TABLE',
      raw: 'AQI=',
      counts: { a: 1 },
      at: '2026-03-01T12:00:00.500Z',
      note: 'n',
      tags: ['x', 'y'],
    };
    const made = codec(CHUNK.replace(/message Other.*\n/, ''));
    const body = made.encode(value);
    expect(body[0]).toBe(0);
    expect(made.decode(body)).toEqual(value);
  });

  it('leaves out what is not on the wire: version 0 and an empty tenant do not come into being', () => {
    const made = codec(
      'syntax = "proto3"; message C { string chunk_id = 1; string tenant_id = 2; int64 version = 3; repeated string tags = 4; }',
    );
    expect(made.decode(made.encode({ chunk_id: 'c' }))).toEqual({ chunk_id: 'c' });
  });

  it('takes the defaults that a proto2 file declares', () => {
    const made = codec(
      'syntax = "proto2"; message C { optional string chunk_id = 1; optional string tenant_id = 2 [default = "acme"]; }',
    );
    expect(made.decode(Uint8Array.of(0))).toEqual({ tenant_id: 'acme' });
  });

  it('keeps integers of 64 bits exact', () => {
    const made = codec('syntax = "proto3"; message C { int64 a = 1; uint64 b = 2; }');
    const body = made.encode({ a: '-9223372036854775808', b: '9007199254740991' });
    expect(made.decode(body)).toEqual({ a: '-9223372036854775808', b: 9007199254740991 });
  });

  it('finds the message by its path: the second of the file, and one inside another', () => {
    const other = foreign('syntax = "proto3"; message Inner { string text = 1; }', 'Inner', { text: 'in' });
    const made = codec(CHUNK);
    expect(made.decode(Uint8Array.from([4, 0, 0, ...other]))).toEqual({ text: 'in' });
    const chunk = foreign('syntax = "proto3"; message C { string chunk_id = 1; }', 'C', { chunk_id: 'c' });
    expect(made.decode(Uint8Array.from([2, 2, ...chunk]))).toEqual({ chunk_id: 'c' });
  });

  it('finds what it imports among the references, also within one package', () => {
    const meta = 'syntax = "proto3"; package p; message Meta { string lang = 1; }';
    const made = codec(
      'syntax = "proto3"; package p; import "meta.proto"; message C { string chunk_id = 1; Meta metadata = 2; }',
      {
        name: 'meta.proto',
        text: meta,
      },
    );
    expect(made.decode(made.encode({ chunk_id: 'c', metadata: { lang: 'en' } }))).toEqual({
      chunk_id: 'c',
      metadata: { lang: 'en' },
    });
    expect(() => codec('syntax = "proto3"; import "meta.proto"; message C { p.Meta metadata = 2; }')).toThrowError(
      /no usable protobuf schema/,
    );
  });

  const bad: { name: string; bytes: number[] }[] = [
    { name: 'no message path', bytes: [] },
    { name: 'a path into nowhere', bytes: [2, 40, 1] },
    { name: 'a path of a million', bytes: [0x80, 0x80, 0x7a, 1] },
    { name: 'a length beyond the end', bytes: [0, 0x0a, 0x7f, 0x61] },
    { name: 'a broken tag', bytes: [0, 0xff] },
  ];
  for (const { name, bytes } of bad) {
    it(`${name}: undecodable`, () => {
      expect(() =>
        codec('syntax = "proto3"; message C { string chunk_id = 1; }').decode(Uint8Array.from(bytes)),
      ).toThrowError(expect.objectContaining({ code: 'VALUE_UNDECODABLE' }));
    });
  }

  it('refuses to write a field that the message does not have, by its path', () => {
    const made = codec(
      'syntax = "proto3"; message C { string chunk_id = 1; Meta metadata = 2; } message Meta { string a = 1; }',
    );
    expect(() => made.encode({ chunk_id: 'c', metadata: { b: 'x' } })).toThrowError(
      'value: metadata.b is no field of message Meta',
    );
  });
});
