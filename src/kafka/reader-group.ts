/** A consumer in a group of its own, for one reading: it leaves and the group is deleted, however the reading ends. */
import { randomUUID } from 'node:crypto';
import type { Consumer } from 'kafkajs';
import type { Log } from '../telemetry/log.ts';
import { settledWithin } from './bounded.ts';
import type { KafkaClient } from './client.ts';
import { kafkaError } from './kafka-errors.ts';

export type ReaderGroupOptions = {
  readonly client: KafkaClient;
  /** The group is named after it, so that rights that are given by prefix hold for it too. */
  readonly consumerGroup: string;
  readonly log: Log;
};

const CLEAN_UP_TIMEOUT_MS = 5_000;
const FETCH_WAIT_MS = 250;

export async function inReaderGroup(
  { client, consumerGroup, log }: ReaderGroupOptions,
  sessionTimeoutMs: number,
  read: (consumer: Consumer) => Promise<void>,
): Promise<void> {
  const groupId = `${consumerGroup}.reader.${randomUUID()}`;
  const consumer = client.kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    allowAutoTopicCreation: false,
    retry: { retries: 2, restartOnFailure: async () => false },
  });
  try {
    await read(consumer);
  } finally {
    await cleanUp(client, consumer, groupId, log);
  }
}

async function cleanUp(client: KafkaClient, consumer: Consumer, groupId: string, log: Log): Promise<void> {
  const admin = client.kafka.admin();
  try {
    await settledWithin(consumer.disconnect(), CLEAN_UP_TIMEOUT_MS, 'leave the group');
    const deleted = admin.connect().then(() => admin.deleteGroups([groupId]));
    await settledWithin(deleted, CLEAN_UP_TIMEOUT_MS, 'delete the group');
  } catch (error) {
    // The broker forgets an empty group by itself, after days.
    log.debug('the group of a reader was not deleted', { groupId, code: kafkaError(error, 'delete').code });
  } finally {
    await quietly(admin.disconnect());
  }
}

/** For the end of a connection whose work is done: bounded, and of no interest. */
export async function quietly(closing: Promise<void>): Promise<void> {
  await settledWithin(closing, CLEAN_UP_TIMEOUT_MS, 'disconnect').catch(() => undefined);
}
