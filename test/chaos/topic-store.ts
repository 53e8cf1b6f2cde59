/**
 * Rows of the sink kafka-topic, as a reader of committed records has them: each record is read once, and folded by the rule
 * that the documentation gives readers. It also tells which records of one row are there twice.
 *
 * The reading itself is the product's: kafkajs alone hands out records of aborted transactions.
 */
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../src/kafka/client.ts';
import { type OffsetRange, readRanges } from '../../src/kafka/range-reader.ts';
import type { RawMessage } from '../../src/records/chunk.ts';
import { decodeEmbeddingRecord } from '../../src/sinks/kafka-topic/record.ts';
import type { SinkRow } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import type { ChaosStore, StoreContents } from './store.ts';

const READ_WITHIN_MS = 60_000;

export class TopicContents implements ChaosStore {
  /** What a killed worker had begun holds readers back until its id is taken over, or its transaction has timed out. */
  readonly lagsBehindCommits = true;
  readonly #topic: string;
  readonly #client: KafkaClient;
  readonly #admin: KafkaAdmin;
  readonly #next = new Map<number, bigint>();
  readonly #rows = new Map<string, SinkRow>();
  /** Offset of the last deletion, by what is deleted and the source's partition. */
  readonly #deleted = new Map<string, bigint>();
  readonly #seen = new Set<string>();
  readonly #repeated: string[] = [];

  constructor(port: number, topic: string) {
    this.#topic = topic;
    this.#client = createKafkaClient({
      bootstrapServers: [`127.0.0.1:${port}`],
      sasl: undefined,
      tls: undefined,
      clientId: 'chaos-reader',
      log: silentLog,
    });
    this.#admin = new KafkaAdmin(this.#client);
  }

  async read(): Promise<StoreContents> {
    const bounds = await this.#admin.topicBounds(this.#topic);
    const ranges = new Map<number, OffsetRange>(
      Array.from(bounds, ([partition, { low, end }]) => [
        partition,
        { from: this.#next.get(partition) ?? low, to: end },
      ]),
    );
    const options = { client: this.#client, topic: this.#topic, consumerGroup: 'chaos-reader', log: silentLog };
    await readRanges(
      options,
      ranges,
      async (messages) => {
        for (const message of messages) this.#apply(message);
        return 'more';
      },
      AbortSignal.timeout(READ_WITHIN_MS),
    );
    for (const [partition, { to }] of ranges) this.#next.set(partition, to);
    const rows = new Map(
      Array.from(this.#rows, ([id, { documentId, version, text, vector }]) => [
        id,
        { documentId, version, text: text ?? '', vector },
      ]),
    );
    return { rows, counted: rows.size, repeated: this.#repeated };
  }

  async close(): Promise<void> {
    await this.#admin.close();
  }

  #apply(message: RawMessage): void {
    const { partition, offset } = message.source;
    // A reading that failed half-way is done again from where the last whole one ended.
    if (offset < (this.#next.get(partition) ?? 0n)) return;
    this.#next.set(partition, offset + 1n);
    const record = decodeEmbeddingRecord(message);
    if (record.kind === 'deletion') this.#delete(record.deletion);
    else this.#store(record.row);
  }

  #store(row: SinkRow): void {
    const place = `${row.chunkId} of ${row.source.partition}/${row.source.offset}`;
    if (this.#seen.has(place)) this.#repeated.push(place);
    this.#seen.add(place);
    const marks = [`chunk ${row.chunkId}`, `document ${row.documentId}`];
    const isDeleted = (mark: string) =>
      (this.#deleted.get(`${mark} ${row.source.partition}`) ?? -1n) > row.source.offset;
    if (marks.some(isDeleted)) return;
    const held = this.#rows.get(row.chunkId);
    if (held === undefined || isNewer(row, held)) this.#rows.set(row.chunkId, row);
  }

  #delete({ scope, id, source }: Extract<ReturnType<typeof decodeEmbeddingRecord>, { kind: 'deletion' }>['deletion']) {
    const mark = `${scope} ${id} ${source.partition}`;
    if ((this.#deleted.get(mark) ?? -1n) < source.offset) this.#deleted.set(mark, source.offset);
    for (const [chunkId, row] of this.#rows) {
      const isNamed = scope === 'chunk' ? chunkId === id : row.documentId === id;
      if (isNamed && row.source.partition === source.partition && row.source.offset < source.offset)
        this.#rows.delete(chunkId);
    }
  }
}

function isNewer(row: SinkRow, held: SinkRow): boolean {
  if (row.version !== undefined && held.version !== undefined && row.version !== held.version)
    return row.version > held.version;
  return row.source.offset >= held.source.offset;
}
