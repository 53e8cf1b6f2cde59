import { expect, it } from 'vitest';
import type { OutgoingMessage } from '../../../../src/kafka/producer.ts';
import { decodeEmbeddingRecord, deletionRecords, rowRecord } from '../../../../src/sinks/kafka-topic/record.ts';
import { contractOf, deletionOf, rowOf, vectorOf } from '../../../contract/sink-rows.ts';

const bytes = (content: Uint8Array | string | null) => (typeof content === 'string' ? Buffer.from(content) : content);
const received = ({ key, value, headers = [] }: OutgoingMessage) => ({ key: bytes(key), value: bytes(value), headers });
const full = rowOf('c', {
  ...{ tenantId: 'acme', text: 'words', truncated: true, version: 2 ** 53 - 1, metadata: { a: [1] } },
  ...{ offset: 2n ** 63n - 1n, vector: vectorOf([1, -0, 0.1]) },
});

it('the binary form is as it is documented, byte by byte', () => {
  const value = Buffer.from(rowRecord(full, contractOf(), 'binary').value as Uint8Array);
  expect([...value.subarray(0, 8)]).toEqual([1, 1, 31, 0, 8, 0, 0, 0]);
  expect(new Uint8Array(value.subarray(8, 24))).toEqual(full.vector);
  expect(value.readDoubleLE(24)).toBe(full.embeddedAtMs);
  expect(value.subarray(32, 64).toString('hex')).toBe(full.textSha256);
  expect(value.readBigUInt64LE(64)).toBe(2n ** 53n - 1n);
  expect(value.subarray(72).toString('latin1')).toBe('\x03\0\0\0doc\x04\0\0\0acme\x05\0\0\0words\x09\0\0\0{"a":[1]}');
});

it('a binary value that is cut, too long or of another version is refused', () => {
  const record = received(rowRecord(full, contractOf(), 'binary'));
  const value = record.value as Buffer;
  const other = Buffer.from(value);
  other[0] = 2;
  for (const bad of [value.subarray(0, -1), value.subarray(0, 3), Buffer.concat([value, Buffer.alloc(1)]), other]) {
    expect(() => decodeEmbeddingRecord({ ...record, value: bad })).toThrow(/binary value cannot be read/);
  }
});

it('the JSON form has numbers that come back bit for bit, and an offset that no reader rounds', () => {
  const { value } = rowRecord(full, contractOf(), 'json');
  expect(value).toContain('"vector":[1,-0,0.0999755859375,0,');
  expect(value).toContain('"offset":"9223372036854775807"');
  const decoded = decodeEmbeddingRecord(received(rowRecord(full, contractOf(), 'json')));
  expect(decoded).toMatchObject({ kind: 'embedding', row: { ...full, fingerprint: 'fp-one' } });
});

it('a deletion is a null value; that of a document is in every partition', () => {
  const [chunk, ...none] = deletionRecords(deletionOf('chunk', 'c', 4n), contractOf(), 3);
  expect([chunk?.value, chunk?.partition, none]).toEqual([null, undefined, []]);
  const deletion = deletionOf('document', 'd', 4n);
  const records = deletionRecords(deletion, contractOf(), 3);
  expect(records.map(({ partition }) => partition)).toEqual([0, 1, 2]);
  for (const record of records) expect(decodeEmbeddingRecord(received(record))).toEqual({ kind: 'deletion', deletion });
});

it('a record of somebody else is refused', () => {
  expect(() => decodeEmbeddingRecord({ key: Buffer.from('k'), value: Buffer.from('{}'), headers: [] })).toThrow(
    /no embedding/,
  );
});
