/**
 * Finds a consumer group that deployments with different topics share.
 *
 * The leader hands out the partitions of ITS topics to every member, so a member with another topic gets partitions that it
 * drops, or none, and sits there without an error. Such a group must be split; it cannot be made to work from one side.
 */
import kafkajs from 'kafkajs';

export type GroupMember = { readonly memberId: string; readonly memberMetadata: Buffer };

export type GroupMisuse = { readonly ours: readonly string[]; readonly others: readonly string[] };

/** Undefined when every member that can be read subscribes to our topics. */
export function findMisuse(ours: readonly string[], members: readonly GroupMember[]): GroupMisuse | undefined {
  const others = new Set<string>();
  for (const { memberMetadata } of members) {
    const topics = topicsOf(memberMetadata);
    if (topics === undefined || sameTopics(topics, ours)) continue;
    for (const topic of topics) if (!ours.includes(topic)) others.add(topic);
  }
  return others.size === 0 ? undefined : { ours, others: [...others].sort() };
}

/** Empty or foreign metadata (a group that is between two states, another client) says nothing. */
function topicsOf(metadata: Buffer): readonly string[] | undefined {
  if (metadata.length === 0) return undefined;
  try {
    return kafkajs.AssignerProtocol.MemberMetadata.decode(metadata)?.topics;
  } catch {
    return undefined;
  }
}

function sameTopics(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((topic) => b.includes(topic));
}
