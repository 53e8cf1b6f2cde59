/**
 * The answer to "offset out of range": reads on at the oldest offset and says what is gone, or stops the worker.
 *
 * kafkajs would commit −1 or −2 here by itself, which an autoscaler reads as no lag or all of it; it does not get to.
 */
import { kafkaSettings, type OffsetResetPolicy } from '../config/sections/kafka.ts';
import { ServingError } from '../errors.ts';
import { type PartitionId, partitionKey } from '../offsets/epochs.ts';
import { type LogBounds, type OffsetReset, offsetReset } from '../offsets/offset-reset.ts';
import type { Log } from '../telemetry/log.ts';
import { kafkaError } from './kafka-errors.ts';

export type OffsetResetsOptions = {
  readonly policy: OffsetResetPolicy;
  readonly logBounds: (id: PartitionId) => Promise<LogBounds | undefined>;
  readonly log: Log;
  readonly onReset: (id: PartitionId, reset: Exclude<OffsetReset, { kind: 'none' }>) => void;
  readonly onStop: (error: ServingError) => void;
};

export class OffsetResets {
  readonly #options: OffsetResetsOptions;

  constructor(options: OffsetResetsOptions) {
    this.#options = options;
  }

  /** The offset to read on at; undefined when there is none to say now. Never rejects. */
  async resolve(id: PartitionId, position: bigint): Promise<bigint | undefined> {
    const { policy, logBounds, log, onReset, onStop } = this.#options;
    const topicPartition = partitionKey(id);
    let bounds: LogBounds | undefined;
    try {
      bounds = await logBounds(id);
    } catch (error) {
      const { code } = kafkaError(error, 'read the bounds of the log');
      log.warn('offset out of range; where the log begins is not readable yet', { topicPartition, code });
    }
    const reset = bounds === undefined ? undefined : offsetReset(position, bounds);
    if (bounds === undefined || reset === undefined || reset.kind === 'none') return undefined;
    const fields = {
      topicPartition,
      kind: reset.kind,
      wantedOffset: String(position),
      logBegins: String(bounds.low),
      logEnds: String(bounds.end),
      offsetsGone: String(reset.gone),
    };
    if (policy === 'stop') {
      onStop(stopError(topicPartition, position, bounds));
      return undefined;
    }
    log.warn('offset out of range: reading goes on at the oldest offset', {
      ...fields,
      readingFrom: String(reset.resumeAt),
    });
    onReset(id, reset);
    return reset.resumeAt;
  }
}

function stopError(topicPartition: string, position: bigint, { low, end }: LogBounds): ServingError {
  const setting = kafkaSettings.offsetReset.name;
  return new ServingError(
    'KAFKA_OFFSETS_GONE',
    `offset ${position} of ${topicPartition} is not in the log any more, which holds ${low} to ${end}; ${setting}=stop keeps the worker from skipping it: set it to earliest, or move the group's offset`,
    { details: { topicPartition, wantedOffset: String(position), logBegins: String(low), logEnds: String(end) } },
  );
}
