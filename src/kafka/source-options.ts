/** What the source on Kafka is told, and what holds when it is not. */
import type { OffsetResetPolicy } from '../config/sections/kafka.ts';
import type { ServingError } from '../errors.ts';
import type { CommitPartner } from '../offsets/commit-partner.ts';
import type { Log } from '../telemetry/log.ts';
import type { KafkaClient } from './client.ts';
import type { DecodeOptions } from './decode.ts';
import type { FlowLimits } from './flow.ts';
import type { GroupConsumerOptions } from './group-events.ts';
import type { SourceObserver } from './source.ts';

export type KafkaSourceOptions = {
  readonly client: KafkaClient;
  readonly topic: string;
  readonly groupId: string;
  readonly decode: DecodeOptions;
  readonly flow: FlowLimits;
  readonly commitIntervalMs: number;
  /** Finished messages that bring a commit forward. */
  readonly commitThreshold?: number;
  /** Where a group without committed offsets starts; true unless given. */
  readonly fromBeginning?: boolean;
  /** What to do when offsets were deleted before they were read; earliest unless given. */
  readonly offsetReset?: OffsetResetPolicy;
  readonly sessionTimeoutMs?: number;
  readonly rebalanceTimeoutMs?: number;
  /** How long a rejoin waits for work in flight; 0 for not at all. */
  readonly rebalanceHoldMs?: number;
  /** Also how long a paused fetch loop sleeps: `resume` does not wake it. */
  readonly fetchMaxWaitMs?: number;
  readonly fetchMinBytes?: number;
  /** Bytes of one fetch, and of one partition in it. A larger single message still comes. */
  readonly fetchMaxBytes?: number;
  readonly fetchMaxBytesPerPartition?: number;
  readonly observer?: SourceObserver;
  /** Told how long each commit took, and the error of one that was not acknowledged. */
  readonly onCommit?: (tookMs: number, error: ServingError | undefined) => void;
  /** Commits offsets together with what was made of the messages before them; plain commits of the group unless given. */
  readonly commitPartner?: CommitPartner | undefined;
  readonly log: Log;
};

export const defaults = { commitThreshold: 10_000, rebalanceHoldMs: 2_000, offsetReset: 'earliest' } as const;

export function consumerOptions(options: KafkaSourceOptions): GroupConsumerOptions {
  const { client, topic, groupId } = options;
  return {
    client,
    topic,
    groupId,
    fromBeginning: options.fromBeginning ?? true,
    sessionTimeoutMs: options.sessionTimeoutMs ?? 30_000,
    rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 60_000,
    fetchMaxWaitMs: options.fetchMaxWaitMs ?? 200,
    fetchMinBytes: options.fetchMinBytes ?? 1,
    fetchMaxBytes: options.fetchMaxBytes ?? 2_097_152,
    fetchMaxBytesPerPartition: options.fetchMaxBytesPerPartition ?? 262_144,
  };
}
