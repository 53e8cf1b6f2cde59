/**
 * Whether this user may do what a worker does, found out without doing it: each request is one that the broker checks for its
 * rights first and then refuses, or answers with nothing.
 *
 * A heartbeat of a member that does not exist, a write that asks for an impossible number of acknowledgements (2), a fetch of
 * no bytes from the end. kafkajs's public face sends none of these, so its cluster is asked itself.
 */
import { ServingError } from '../errors.ts';
import { settledWithin } from './bounded.ts';
import type { KafkaClient } from './client.ts';
import { brokerErrorType, coordinatedError, kafkaError } from './kafka-errors.ts';

type Broker = {
  heartbeat(request: {
    readonly groupId: string;
    readonly groupGenerationId: number;
    readonly memberId: string;
  }): Promise<unknown>;
  produce(request: {
    readonly acks: number;
    readonly timeout: number;
    readonly topicData: readonly unknown[];
  }): Promise<unknown>;
  fetch(request: {
    readonly maxWaitTime: number;
    readonly minBytes: number;
    readonly maxBytes: number;
    readonly topics: readonly unknown[];
  }): Promise<unknown>;
};

type Cluster = {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number; readonly leader: number }[];
  findBroker(of: { readonly nodeId: number }): Promise<Broker>;
  findGroupCoordinator(of: { readonly groupId: string }): Promise<Broker>;
};

type MakeCluster = (options: { readonly allowAutoTopicCreation: boolean }) => Cluster;

const NO_MEMBER = 'rag-serving-doctor-no-member';
const IMPOSSIBLE_ACKS = 2;
const CALL_TIMEOUT_MS = 20_000;
const CLOSE_TIMEOUT_MS = 2_000;

/** What a broker answers to whoever has the right. */
const HARMLESS: Readonly<Record<'group' | 'write' | 'read', readonly string[]>> = {
  group: ['UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'REBALANCE_IN_PROGRESS'],
  write: ['INVALID_REQUIRED_ACKS'],
  // Records that were deleted meanwhile: not a matter of rights.
  read: ['OFFSET_OUT_OF_RANGE'],
};

/** READ on the group: joining and committing. Rejects with KAFKA_ACCESS_DENIED without it. */
export function proveGroupRead(client: KafkaClient, groupId: string): Promise<void> {
  return withCluster(client, `use group ${groupId}`, 'group', async (cluster) => {
    const coordinator = await cluster.findGroupCoordinator({ groupId });
    await coordinator.heartbeat({ groupId, groupGenerationId: 0, memberId: NO_MEMBER });
  });
}

/** WRITE on the topic, which must be there. Nothing is written. */
export function proveTopicWrite(client: KafkaClient, topic: string): Promise<void> {
  return withCluster(client, `write to topic ${topic}`, 'write', async (cluster) => {
    const { broker, partition } = await leaderOf(cluster, topic);
    const messages = [{ key: null, value: Buffer.alloc(0), headers: {}, timestamp: '0' }];
    const topicData = [{ topic, partitions: [{ partition, messages }] }];
    await broker.produce({ acks: IMPOSSIBLE_ACKS, timeout: CALL_TIMEOUT_MS, topicData });
    throw new ServingError('INTERNAL', 'the broker took a write that it should have refused');
  });
}

/** READ on the topic, which must be there. `end` of its first partition; no record is asked for. */
export function proveTopicRead(client: KafkaClient, topic: string, partition: number, end: bigint): Promise<void> {
  return withCluster(client, `read topic ${topic}`, 'read', async (cluster) => {
    const { broker } = await leaderOf(cluster, topic, partition);
    const partitions = [{ partition, fetchOffset: String(end), maxBytes: 1 }];
    await broker.fetch({ maxWaitTime: 1, minBytes: 0, maxBytes: 1, topics: [{ topic, partitions }] });
  });
}

async function leaderOf(cluster: Cluster, topic: string, partition?: number) {
  await cluster.addTargetTopic(topic);
  const all = cluster.findTopicPartitionMetadata(topic);
  const found = all.find(({ partitionId }) => partition === undefined || partitionId === partition);
  if (found === undefined || found.leader < 0) {
    throw new ServingError('KAFKA_UNAVAILABLE', `a partition of topic ${topic} has no leader`);
  }
  return { broker: await cluster.findBroker({ nodeId: found.leader }), partition: found.partitionId };
}

async function withCluster(
  client: KafkaClient,
  doing: string,
  right: keyof typeof HARMLESS,
  ask: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const cluster = makeCluster(client);
  try {
    await settledWithin(
      cluster.connect().then(() => ask(cluster)),
      CALL_TIMEOUT_MS,
      doing,
    );
  } catch (error) {
    if (HARMLESS[right].includes(brokerErrorType(error) ?? '')) return;
    throw right === 'group'
      ? coordinatedError(error, doing, client.troubles.latest(CALL_TIMEOUT_MS))
      : kafkaError(error, doing);
  } finally {
    await settledWithin(cluster.disconnect(), CLOSE_TIMEOUT_MS, 'disconnect').catch(() => undefined);
  }
}

function makeCluster({ kafka }: KafkaClient): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const make: unknown = symbol && Reflect.get(kafka, symbol);
  if (typeof make !== 'function') throw new ServingError('INTERNAL', 'unknown layout of kafkajs');
  return (make as MakeCluster)({ allowAutoTopicCreation: false });
}
