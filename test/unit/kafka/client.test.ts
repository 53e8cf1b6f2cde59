import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partitionLag } from '../../../src/kafka/admin.ts';
import { createKafkaClient } from '../../../src/kafka/client.ts';
import { registerCodecs } from '../../../src/kafka/codecs.ts';
import { ConnectionTroubles } from '../../../src/kafka/connection-troubles.ts';
import { findMisuse } from '../../../src/kafka/group-check.ts';
import { logBridge } from '../../../src/kafka/log-bridge.ts';
import { type LogFields, silentLog } from '../../../src/telemetry/log.ts';

const base = { bootstrapServers: ['127.0.0.1:1'], sasl: undefined, tls: undefined, clientId: 'c', log: silentLog };

describe('createKafkaClient', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'rag-kafka-tls-'));
    writeFileSync(join(dir, 'empty.pem'), '');
    writeFileSync(join(dir, 'text.pem'), 'not a certificate');
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  for (const [name, file] of [
    ['missing', 'none.pem'],
    ['empty', 'empty.pem'],
    ['not PEM', 'text.pem'],
    ['a folder', '.'],
  ] as const) {
    it(`a CA that is ${name} is told at start, by setting and path (F05)`, () => {
      const caPath = join(dir, file);
      const tls = { caPath, certPath: undefined, keyPath: undefined };
      const error = expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(caPath) });
      expect(() => createKafkaClient({ ...base, tls })).toThrowError(error);
      expect(() => createKafkaClient({ ...base, tls })).toThrowError(/^KAFKA_CA_CERT_PATH /);
    });
  }

  it('refuses to be made without a broker', () => {
    expect(() => createKafkaClient({ ...base, bootstrapServers: [] })).toThrowError(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});

describe('codecs', () => {
  const codec = (type: number) =>
    kafkajs.CompressionCodecs[type as 2]() as unknown as Record<
      'compress' | 'decompress',
      (input: unknown) => Promise<Buffer>
    >;
  const { Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;

  for (const [name, type] of [
    ['snappy', Snappy],
    ['lz4', LZ4],
  ] as const) {
    it(`${name} unpacks what it packs`, async () => {
      registerCodecs();
      const text = Buffer.from('the same again and '.repeat(200));
      const packed = await codec(type).compress({ buffer: text });
      expect(packed.byteLength).toBeLessThan(text.byteLength);
      expect((await codec(type).decompress(packed)).equals(text)).toBe(true);
    });
  }

  for (const [name, type] of [
    ['snappy', Snappy],
    ['lz4', LZ4],
    ['zstd', ZSTD],
  ] as const) {
    it(`a ${name} batch that does not unpack is told by codec and size, not by content (K10)`, async () => {
      registerCodecs();
      const broken = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
      await expect(codec(type).decompress(broken)).rejects.toMatchObject({
        code: 'KAFKA_CODEC_UNSUPPORTED',
        message: expect.stringMatching(new RegExp(`^cannot unpack a ${name} record batch of 12 bytes`)),
      });
    });
  }

  it('zstd cannot be written', async () => {
    registerCodecs();
    await expect(codec(ZSTD).compress({ buffer: Buffer.from('x') })).rejects.toMatchObject({
      code: 'KAFKA_CODEC_UNSUPPORTED',
    });
  });
});

describe('logBridge', () => {
  it('passes named scalar fields only: never a stack, a payload or a value', () => {
    const lines: [string, string, LogFields][] = [];
    const line =
      (level: string) =>
      (message: string, fields: LogFields = {}) =>
        void lines.push([level, message, fields]);
    const troubles = new ConnectionTroubles();
    const bridge = logBridge({ ...silentLog, debug: line('debug'), warn: line('warn') }, troubles);
    const write = bridge(kafkajs.logLevel.INFO);
    const log = {
      timestamp: '',
      message: 'Crash',
      topic: 't',
      partition: 1,
      error: 'why',
      stack: 'zq-sentinel',
      payload: { value: 'zq-sentinel' },
    };
    write({ namespace: 'Runner', level: kafkajs.logLevel.ERROR, label: 'ERROR', log: { ...log, logger: 'kafkajs' } });
    expect(troubles.latest(60_000)).toBeUndefined();
    write({ namespace: 'Connection', level: kafkajs.logLevel.ERROR, label: 'ERROR', log });
    expect(troubles.latest(60_000)).toBe('why');
    const fields = { namespace: 'Runner', says: 'Crash', topic: 't', partition: 1, error: 'why' };
    expect(lines).toEqual([
      ['warn', 'kafka client', fields],
      ['debug', 'kafka client', { ...fields, namespace: 'Connection' }],
    ]);
  });
});

describe('findMisuse (K11)', () => {
  const member = (memberId: string, topics: string[]) => ({
    memberId,
    memberMetadata: kafkajs.AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
  });
  it('names the topics of the others', () => {
    expect(findMisuse(['a'], [member('1', ['a']), member('2', ['c', 'b'])])).toEqual({
      ours: ['a'],
      others: ['b', 'c'],
    });
  });
  it('finds nothing among members of one topic, or in metadata that cannot be read', () => {
    const unreadable = [Buffer.alloc(0), Buffer.from([1])].map((memberMetadata) => ({ memberId: 'x', memberMetadata }));
    expect(findMisuse(['a'], [member('1', ['a']), ...unreadable])).toBeUndefined();
  });
});

describe('partitionLag', () => {
  const cases = [
    { name: 'behind', low: 0n, end: 10n, stored: 4n, lag: 6n, committed: 4n },
    { name: 'level', low: 0n, end: 10n, stored: 10n, lag: 0n, committed: 10n },
    { name: 'never committed', low: 3n, end: 10n, stored: -1n, lag: 7n, committed: undefined },
    { name: 'unknown to the group', low: 0n, end: 0n, stored: undefined, lag: 0n, committed: undefined },
    { name: 'reset by the client', low: 3n, end: 10n, stored: -2n, lag: 7n, committed: undefined },
    { name: 'committed before what is left', low: 8n, end: 10n, stored: 2n, lag: 2n, committed: 2n },
    { name: 'committed beyond a topic made anew', low: 0n, end: 3n, stored: 9n, lag: 0n, committed: 9n },
  ];
  for (const { name, low, end, stored, lag, committed } of cases) {
    it(name, () => expect(partitionLag(1, low, end, stored)).toEqual({ partition: 1, low, end, committed, lag }));
  }
});
