/** Where a due job gets its Kafka message from: from Redis, or from Kafka again where only the origin was kept. */
import type { RawMessage, SourcePosition } from '../records/chunk.ts';
import type { Log } from '../telemetry/log.ts';
import type { JobRecord } from './job-record.ts';

/** Reads single messages of the topic once more; undefined for one that Kafka no longer has. Rejects with class `outage`. */
export type ReadMessage = (position: SourcePosition, signal: AbortSignal) => Promise<RawMessage | undefined>;

export type PayloadOptions = {
  readonly read: ReadMessage;
  /** Told for each chunk that is lost because Kafka no longer has its message. */
  readonly onGone: () => void;
  readonly log: Log;
};

export class Payloads {
  readonly #options: PayloadOptions;

  constructor(options: PayloadOptions) {
    this.#options = options;
  }

  /** Undefined when the message is gone for good, which has been reported then. */
  async messageOf(record: JobRecord, signal: AbortSignal): Promise<RawMessage | undefined> {
    if (record.raw !== undefined) return record.raw;
    const { read, onGone, log } = this.#options;
    const { source, timestampMs, index } = record;
    const raw = await read(source, signal);
    // A topic that was deleted and made again has other messages at the same offsets.
    if (raw !== undefined && raw.timestampMs === timestampMs) return raw;
    onGone();
    log.warn('a retry is given up: Kafka no longer has its message', { ...source, index });
    return undefined;
  }
}
