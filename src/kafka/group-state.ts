/** What the broker says of a group when asked over connections of its own: those that stand may be what is wrong. */
import { KafkaAdmin, type PartitionLag } from './admin.ts';
import { settledWithin } from './bounded.ts';
import type { KafkaClient } from './client.ts';
import { kafkaError } from './kafka-errors.ts';

export type GroupState = {
  /** False while the group is between two generations. */
  readonly settled: boolean;
  readonly lag: readonly PartitionLag[];
};

const ASK_TIMEOUT_MS = 8_000;
const CLOSE_TIMEOUT_MS = 1_000;
/** Waiting for members to join, or for the plan of the one that leads. */
const UNSETTLED: readonly string[] = ['PreparingRebalance', 'CompletingRebalance'];

/** Rejects when the broker does not answer. */
export async function askGroup(client: KafkaClient, groupId: string, topic: string): Promise<GroupState> {
  const offsets = new KafkaAdmin(client);
  try {
    const [settled, lag] = await settledWithin(
      Promise.all([isSettled(client, groupId), offsets.lag(groupId, topic)]),
      ASK_TIMEOUT_MS,
      `ask about group ${groupId}`,
    );
    return { settled, lag };
  } finally {
    void offsets.close();
  }
}

async function isSettled(client: KafkaClient, groupId: string): Promise<boolean> {
  const admin = client.kafka.admin();
  try {
    await admin.connect();
    const { groups } = await admin.describeGroups([groupId]);
    return groups.every(({ state }) => !UNSETTLED.includes(state));
  } catch (error) {
    throw kafkaError(error, `describe group ${groupId}`);
  } finally {
    void settledWithin(admin.disconnect(), CLOSE_TIMEOUT_MS, 'disconnect').catch(() => undefined);
  }
}
