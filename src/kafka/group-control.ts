/**
 * A consumer group as an operator handles it: who is in it, and its offsets moved while nobody is.
 *
 * kafkajs moves offsets by joining the group itself. A member that comes at the same moment takes partitions from it, and
 * those are not moved though the call resolves: so what the broker holds afterwards is what counts.
 */
import kafkajs, { type Admin } from 'kafkajs';
import { ServingError } from '../errors.ts';
import type { KafkaAdmin } from './admin.ts';

export type GroupState = {
  /** As Kafka calls it: Empty, Dead (there is none), Stable, PreparingRebalance, CompletingRebalance. */
  readonly state: string;
  readonly members: readonly GroupMember[];
};

export type GroupMember = {
  readonly clientId: string;
  readonly host: string;
  /** Which partitions it has, by topic; empty between two generations, and for a client that says it in another way. */
  readonly partitions: ReadonlyMap<string, readonly number[]>;
};

export function groupState(admin: KafkaAdmin, groupId: string): Promise<GroupState> {
  return admin.ask(`describe group ${groupId}`, async (kafka) => {
    const [group] = (await kafka.describeGroups([groupId])).groups;
    const members = (group?.members ?? []).map(({ clientId, clientHost, memberAssignment }) => ({
      clientId,
      host: clientHost,
      partitions: assigned(memberAssignment),
    }));
    return { state: group?.state ?? 'Dead', members };
  });
}

function assigned(assignment: Buffer): ReadonlyMap<string, readonly number[]> {
  if (assignment.length === 0) return new Map();
  try {
    return new Map(Object.entries(kafkajs.AssignerProtocol.MemberAssignment.decode(assignment)?.assignment ?? {}));
  } catch {
    return new Map();
  }
}

/** Throws KAFKA_GROUP_MISUSED for a group that somebody is in: whoever reads would commit over what is set. */
export async function refuseLiveGroup(admin: KafkaAdmin, groupId: string): Promise<void> {
  const { state, members } = await groupState(admin, groupId);
  if (members.length === 0 && (state === 'Empty' || state === 'Dead')) return;
  const names = members.slice(0, 3).map(({ clientId, host }) => `${clientId} at ${host.replace(/^\//, '')}`);
  const who =
    names.length === 0 ? 'none that the broker names' : `${names.join(', ')}${members.length > 3 ? ', …' : ''}`;
  throw new ServingError(
    'KAFKA_GROUP_MISUSED',
    `group ${groupId} is ${state} with ${members.length} members (${who}): stop its workers first, a worker would commit over it`,
    { details: { state, members: members.length } },
  );
}

/** In each partition the first offset whose record is not older; the end where all are. */
export function offsetsAt(admin: KafkaAdmin, topic: string, atMs: number): Promise<ReadonlyMap<number, bigint>> {
  return admin.ask(`look for a time in topic ${topic}`, async (kafka: Admin) => {
    const found = await kafka.fetchTopicOffsetsByTimestamp(topic, atMs);
    return new Map(found.map(({ partition, offset }) => [partition, BigInt(offset)]));
  });
}

/** Resolves when the broker holds every one of them. Nobody may be in the group. */
export async function moveOffsets(
  admin: KafkaAdmin,
  groupId: string,
  topic: string,
  offsets: ReadonlyMap<number, bigint>,
): Promise<void> {
  const partitions = Array.from(offsets, ([partition, offset]) => ({ partition, offset: String(offset) }));
  await admin.ask(`set offsets of group ${groupId}`, (kafka) => kafka.setOffsets({ groupId, topic, partitions }));
  const held = await admin.committedOffsets(groupId, topic);
  const open = partitions.filter(({ partition, offset }) => String(held.get(partition)) !== offset);
  if (open.length === 0) return;
  throw new ServingError(
    'KAFKA_GROUP_MISUSED',
    `${open.length} of ${partitions.length} partitions were not moved (${open.map(({ partition }) => partition).join(', ')}): somebody joined group ${groupId} meanwhile; stop it and run this again`,
  );
}
