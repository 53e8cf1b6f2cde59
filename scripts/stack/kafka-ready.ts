/**
 * Whether a broker is of use: it answers an admin call and its group coordinator answers too.
 *
 * An accepting port says little: the topic of the committed offsets is created by the first group that asks, and until then
 * first users see coordinator errors. Describing a group that does not exist creates it.
 */
import { Kafka, logLevel } from 'kafkajs';
import { guardKafkaTimers } from '../../src/kafka/timer-guard.ts';

const QUESTION_TIMEOUT_MS = 5_000;

/** Throws as long as the broker is not ready. */
export async function askBroker(bootstrapServers: string): Promise<void> {
  guardKafkaTimers();
  const kafka = new Kafka({
    clientId: 'rag-stack',
    brokers: [bootstrapServers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: QUESTION_TIMEOUT_MS,
    requestTimeout: QUESTION_TIMEOUT_MS,
    retry: { retries: 1, initialRetryTime: 50 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    if (brokers.length === 0) throw new Error('the cluster has no broker yet');
    await admin.describeGroups(['rag-stack-ready']);
  } finally {
    await admin.disconnect();
  }
}
