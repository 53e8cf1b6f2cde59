/**
 * Names in Redis; pure. Workers that read another group or topic, or write another collection, must not take each other's
 * jobs, so the queue is named after all three; the hash tells apart what looks alike once it is cut and cleaned.
 */
import { createHash } from 'node:crypto';
import type { RawMessage } from '../records/chunk.ts';

export type QueueIdentity = {
  readonly consumerGroup: string;
  readonly topic: string;
  /** Which vectors the worker writes: kind of store, place, collection. Holds no secret. */
  readonly collection: string;
};

const READABLE = 60;

export function queueName({ consumerGroup, topic, collection }: QueueIdentity): string {
  const parts = [consumerGroup, topic, collection];
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
  const readable = `${consumerGroup}-${topic}`.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, READABLE);
  return `${readable}-${hash}`;
}

/**
 * One id for one chunk of one message, so that a hand-over may be repeated. The time stamp is part of it because a topic that
 * was deleted and made again counts its offsets from 0: BullMQ ignores an id that it has, and the new chunk would be lost.
 */
export function jobId({ source, timestampMs }: RawMessage, index: number | undefined): string {
  const { topic, partition, offset } = source;
  return `${topic}-${partition}-${offset}-${index ?? 'whole'}-${timestampMs}`;
}
