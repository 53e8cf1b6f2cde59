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
/** One look: whoever asks has his own interval. */
const RETRY = { retries: 1 } as const;
/** Waiting for members to join, or for the plan of the one that leads. */
const UNSETTLED: readonly string[] = ['PreparingRebalance', 'CompletingRebalance'];

/** Rejects when the broker does not answer. */
export async function askGroup(client: KafkaClient, groupId: string, topic: string): Promise<GroupState> {
  const settled = await isSettled(client, groupId);
  const admin = new KafkaAdmin(client);
  try {
    const lag = await settledWithin(admin.lag(groupId, topic), ASK_TIMEOUT_MS, `read the lag of group ${groupId}`);
    return { settled, lag };
  } finally {
    void admin.close();
  }
}

async function isSettled(client: KafkaClient, groupId: string): Promise<boolean> {
  const doing = `describe group ${groupId}`;
  const admin = client.kafka.admin({ retry: RETRY });
  const ask = async () => {
    await admin.connect();
    return admin.describeGroups([groupId]);
  };
  try {
    const { groups } = await settledWithin(ask(), ASK_TIMEOUT_MS, doing);
    return groups.every(({ state }) => !UNSETTLED.includes(state));
  } catch (error) {
    throw kafkaError(error, doing);
  } finally {
    void settledWithin(admin.disconnect(), CLOSE_TIMEOUT_MS, 'disconnect').catch(() => undefined);
  }
}
