import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { KafkaProducer } from '../../../src/kafka/producer.ts';
import { useKafka } from '../../support/stack.ts';
import { chunkMessages, freshTopic, startSource, until, useTools } from './harness.ts';
import { sendZstd } from './zstd.ts';

const kafka = useKafka();
const tools = useTools(kafka);

describe('record batches of every codec are read (K10)', () => {
  for (const compression of ['none', 'gzip', 'snappy', 'lz4'] as const) {
    it(compression, async () => {
      const { topic, groupId } = await freshTopic(tools, compression);
      const producer = new KafkaProducer({ client: tools.client, compression });
      await producer.send(topic, chunkMessages(200));
      await producer.close();
      const { records, fatal } = await startSource(kafka().bootstrapServers, { topic, groupId });
      await until('200 records', () => records.length === 200);
      expect(records.every((record) => record.kind === 'chunk')).toBe(true);
      expect(fatal).toEqual([]);
    });
  }

  it('zstd', async () => {
    const { topic, groupId } = await freshTopic(tools, 'zstd');
    await sendZstd(tools.client, topic, chunkMessages(200));
    const { records } = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('200 records', () => records.length === 200);
    expect(records.every((record) => record.kind === 'chunk')).toBe(true);
  });

  it('a codec that is not registered is one fatal error that names it, not an endless loop', async () => {
    const { topic, groupId } = await freshTopic(tools, 'unregistered');
    await sendZstd(tools.client, topic, chunkMessages(200));
    // All codecs of Kafka are registered, so one is taken away for this test: as kafkajs has it by itself.
    const { CompressionCodecs, CompressionTypes, KafkaJSError } = kafkajs;
    const registered = CompressionCodecs[CompressionTypes.ZSTD];
    CompressionCodecs[CompressionTypes.ZSTD] = () => {
      throw Object.assign(new KafkaJSError('ZSTD compression not implemented', { retriable: false }), {
        name: 'KafkaJSNotImplemented',
      });
    };
    try {
      const run = await startSource(kafka().bootstrapServers, { topic, groupId });
      await until('fatal', () => run.fatal.length > 0);
      expect(run.fatal).toMatchObject([{ code: 'KAFKA_CODEC_UNSUPPORTED', message: expect.stringContaining('ZSTD') }]);
      expect(run.source.status()).toMatchObject({ joined: false, reason: expect.stringContaining('ZSTD') });
    } finally {
      CompressionCodecs[CompressionTypes.ZSTD] = registered;
    }
  });
});
