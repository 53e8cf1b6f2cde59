/**
 * Three things that kafkajs 2.2.4 offers no way to: to do something before a member joins again, to learn where reading
 * begins, and to decide what happens when the broker says "offset out of range" (kafkajs commits −1 or −2 and reads on).
 * And one that it offers in part: a commit that is not repeated by itself.
 *
 * All of it lies in kafkajs's ConsumerGroup, which `consumer.run` makes and keeps to itself. It connects the group in the
 * turn of the call, so a look at `connect` in that turn finds it; the methods are then replaced on this one object. kafkajs
 * has had no release since 2023 and is pinned; with another layout the worker stops and says so.
 */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServingError } from '../errors.ts';
import type { PartitionId } from '../offsets/epochs.ts';
import { brokerErrorType } from './kafka-errors.ts';

export type GroupHooks = {
  /** `heartbeat` answers false once the membership is gone. Must not reject. */
  beforeRejoin(heartbeat: () => Promise<boolean>): Promise<void>;
  /** Where reading begins in this generation, before the first fetch. */
  onPosition(id: PartitionId, offset: bigint): void;
  /** The offset to go on at; undefined to try the same again a little later. Must not reject. */
  onOutOfRange(id: PartitionId, position: bigint): Promise<bigint | undefined>;
};

export type PartitionCommit = { readonly partition: number; readonly offset: string; readonly metadata: string };

export type HookedGroup = {
  /** One attempt, signed with the generation of the turn it is called in; rejects when the broker does. */
  commit(topic: string, partitions: readonly PartitionCommit[]): Promise<void>;
  /** Whether the broker counts it as a member of the generation it believes to be in. */
  isMember(): Promise<boolean>;
};

type OffsetManager = { nextOffset(topic: string, partition: number): { toString(): string } };

/** What we use of it, as it is in 2.2.4. */
type ConsumerGroup = {
  readonly groupId: string;
  readonly memberId: string | null;
  readonly generationId: number | null;
  readonly coordinator: { heartbeat(request: object): Promise<unknown> } | null;
  readonly offsetManager: OffsetManager;
  assigned(): readonly { readonly topic: string; readonly partitions: readonly number[] }[];
  seek(position: { topic: string; partition: number; offset: string }): void;
  commitOffsets(offsets: object): Promise<void>;
  joinAndSync(): Promise<void>;
  seekOffsets(topicPartitions: unknown): Promise<void>;
  recoverFromOffsetOutOfRange(error: PartitionId): Promise<void>;
};

const NEEDED = [
  'connect',
  'assigned',
  'seek',
  'commitOffsets',
  'joinAndSync',
  'seekOffsets',
  'recoverFromOffsetOutOfRange',
];
const OUT_OF_RANGE_PAUSE_MS = 500;

let onConnect: ((group: ConsumerGroup) => void) | undefined;
let watched = false;

/** Calls `run`, which must call `consumer.run` at once, and hooks into the group that it makes. */
export function runHooked(run: () => Promise<void>, hooks: GroupHooks): { group: HookedGroup; ended: Promise<void> } {
  watchConnect();
  let found: ConsumerGroup | undefined;
  onConnect = (group) => {
    found ??= group;
  };
  let ended: Promise<void>;
  try {
    ended = run();
  } finally {
    onConnect = undefined;
  }
  if (found === undefined) {
    ended.catch(() => undefined);
    throw unknownLayout('its consumer makes no group');
  }
  return { group: hook(found, hooks), ended };
}

function hook(group: ConsumerGroup, hooks: GroupHooks): HookedGroup {
  const joinAndSync = group.joinAndSync.bind(group);
  const seekOffsets = group.seekOffsets.bind(group);
  const commitOffsets = group.commitOffsets.bind(group);
  let told: OffsetManager | undefined;
  Object.assign(group, {
    joinAndSync: async () => {
      // Without a member id it joins for the first time, or has been put out.
      if (group.memberId !== null) await hooks.beforeRejoin(() => heartbeat(group));
      return joinAndSync();
    },
    seekOffsets: async (topicPartitions: unknown) => {
      await seekOffsets(topicPartitions);
      // A generation has an offset manager of its own.
      if (told === group.offsetManager) return;
      told = group.offsetManager;
      for (const id of assigned(group)) hooks.onPosition(id, position(group, id));
    },
    recoverFromOffsetOutOfRange: async ({ topic, partition }: PartitionId) => {
      const id = { topic, partition };
      const resumeAt = await hooks.onOutOfRange(id, position(group, id));
      if (resumeAt !== undefined) group.seek({ ...id, offset: String(resumeAt) });
      else await sleep(OUT_OF_RANGE_PAUSE_MS);
    },
  });
  return {
    commit: (topic, partitions) => commitOffsets({ topics: [{ topic, partitions }] }),
    isMember: () => heartbeat(group),
  };
}

function assigned(group: ConsumerGroup): PartitionId[] {
  return group.assigned().flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })));
}

function position(group: ConsumerGroup, { topic, partition }: PartitionId): bigint {
  return BigInt(group.offsetManager.nextOffset(topic, partition).toString());
}

/** A member that is asked to rejoin is still one, and its session goes on. */
async function heartbeat({ coordinator, groupId, memberId, generationId }: ConsumerGroup): Promise<boolean> {
  if (coordinator === null || memberId === null) return false;
  try {
    await coordinator.heartbeat({ groupId, memberId, groupGenerationId: generationId });
    return true;
  } catch (error) {
    return brokerErrorType(error) === 'REBALANCE_IN_PROGRESS';
  }
}

/** Once a process. */
function watchConnect(): void {
  if (watched) return;
  const prototype = groupPrototype();
  const missing = NEEDED.filter((name) => typeof prototype?.[name] !== 'function');
  if (prototype === undefined || missing.length > 0) throw unknownLayout(`its group has no ${missing.join(', ')}`);
  const connect = prototype.connect as (this: ConsumerGroup) => Promise<void>;
  prototype.connect = function (this: ConsumerGroup): Promise<void> {
    onConnect?.(this);
    return connect.call(this);
  };
  watched = true;
}

function groupPrototype(): Record<string, unknown> | undefined {
  try {
    const group: unknown = createRequire(import.meta.url)('kafkajs/src/consumer/consumerGroup');
    return typeof group === 'function' ? (group.prototype as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function unknownLayout(why: string): ServingError {
  return new ServingError(
    'DEPENDENCY_MISSING',
    `kafkajs is not laid out as version 2.2.4 is: ${why}; install that version`,
  );
}
