/** Record batches in zstd, which the product reads and does not write. */
import kafkajs from 'kafkajs';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import type { OutgoingMessage } from '../../../src/kafka/producer.ts';
import { storedZstdFrame } from './zstd-frame.ts';

/** Lends kafkajs a packer for the length of one call. */
export async function sendZstd(client: KafkaClient, topic: string, messages: readonly OutgoingMessage[]) {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  const registered = CompressionCodecs[CompressionTypes.ZSTD];
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    ...registered(),
    compress: async ({ buffer }: { buffer: Buffer }) => storedZstdFrame(buffer),
  });
  const producer = client.kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  try {
    await producer.connect();
    const records = messages.map(({ key, value }) => ({ key: String(key), value: String(value) }));
    await producer.send({ topic, compression: CompressionTypes.ZSTD, messages: records });
  } finally {
    CompressionCodecs[CompressionTypes.ZSTD] = registered;
    await producer.disconnect();
  }
}
