/** A kafkajs message as a RawMessage, and what it weighs while it is in flight. Bytes are views, not copies. */
import type { KafkaMessage } from 'kafkajs';
import type { RawMessage } from '../records/chunk.ts';
import { headerList } from './headers.ts';

export function rawMessage(topic: string, partition: number, message: KafkaMessage): RawMessage {
  return {
    source: { topic, partition, offset: BigInt(message.offset) },
    key: message.key,
    value: message.value,
    headers: headerList(message.headers),
    timestampMs: Number(message.timestamp),
  };
}

/** Bytes of key, value and headers. What is decoded from them takes about two to three times as much. */
export function weightBytes({ key, value, headers }: RawMessage): number {
  let bytes = (key?.byteLength ?? 0) + (value?.byteLength ?? 0);
  for (const [name, content] of headers) bytes += name.length + (content?.byteLength ?? 0);
  return bytes;
}
