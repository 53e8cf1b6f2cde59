/** What a membership is told at its start, and what it tells. */
import type { ServingError } from '../errors.ts';
import type { PartitionId } from '../offsets/epochs.ts';
import type { KafkaClient } from './client.ts';
import type { GroupHooks } from './group-hooks.ts';
import type { FetchedBatch, Intake } from './intake.ts';

export type GroupConsumerOptions = {
  readonly client: KafkaClient;
  readonly topic: string;
  readonly groupId: string;
  readonly fromBeginning: boolean;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly fetchMaxWaitMs: number;
  readonly fetchMinBytes: number;
  readonly fetchMaxBytes: number;
  readonly fetchMaxBytesPerPartition: number;
};

/** All are called from kafkajs's own turn and must not throw. */
export type GroupEvents = GroupHooks & {
  onBatch(batch: FetchedBatch): Intake;
  onEmptyStretch(id: PartitionId, lastOffset: bigint): void;
  onJoined(assigned: readonly PartitionId[]): void;
  onForeignTopics(topics: readonly string[]): void;
  /** The membership is gone; it is rebuilt after `retryInMs`. */
  onDown(error: ServingError, retryInMs: number): void;
  onFatal(error: ServingError): void;
};
