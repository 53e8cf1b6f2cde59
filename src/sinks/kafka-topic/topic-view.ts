/**
 * What the topic says, read from its beginning: for checks and tools, and for a look at what it holds already.
 *
 * A topic keeps what is written to it, superseded rows too. Whoever reads it decides which row of a chunk counts, by the rules
 * that the other stores keep while they write; here the sink in memory decides.
 */
import { ServingError } from '../../errors.ts';
import type { KafkaAdmin } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { type OffsetRange, readRanges } from '../../kafka/range-reader.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { RawMessage } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { MemorySink } from '../memory/sink.ts';
import type { SearchHit, SearchScope, Sink, StoredRow } from '../sink.ts';
import { contractOf, decodeEmbeddingRecord, type RecordContract } from './record.ts';

export type TopicViewOptions = {
  readonly admin: KafkaAdmin;
  readonly client: KafkaClient;
  readonly topic: string;
  readonly consumerGroup: string;
  readonly log: Log;
};

/** By partition: all records of a chunk lie in one, and the deletion of a document is in each. */
export class TopicView {
  readonly #contract: VectorContract;
  readonly #partitions = new Map<number, Sink>();
  readonly #fingerprints = new Map<string, string>();

  constructor(contract: VectorContract) {
    this.#contract = contract;
  }

  async apply(message: RawMessage): Promise<void> {
    const rows = await this.#rowsOf(message.source.partition);
    const record = decodeEmbeddingRecord(message);
    if (record.kind === 'deletion') {
      await rows.remove([record.deletion]);
      return;
    }
    const [outcome] = await rows.write([record.row]);
    if (outcome?.kind === 'stored') this.#fingerprints.set(record.row.chunkId, record.row.fingerprint);
  }

  async count(): Promise<number> {
    const counts = await this.#each((rows) => rows.count());
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async search(vector: Float32Array, scope: SearchScope): Promise<readonly SearchHit[]> {
    const hits = await this.#each((rows) => rows.search(vector, scope));
    return hits
      .flat()
      .sort((a, b) => b.score - a.score)
      .slice(0, scope.limit);
  }

  async fetch(chunkIds: readonly string[]): Promise<readonly StoredRow[]> {
    const found = (await this.#each((rows) => rows.fetch(chunkIds))).flat();
    const byId = new Map(found.map((row) => [row.chunkId, row]));
    return chunkIds.flatMap((id) => {
      const row = byId.get(id);
      return row === undefined ? [] : [{ ...row, fingerprint: this.#fingerprints.get(id) ?? row.fingerprint }];
    });
  }

  async #rowsOf(partition: number): Promise<Sink> {
    const known = this.#partitions.get(partition);
    if (known !== undefined) return known;
    const rows = new MemorySink({}, STILL);
    await rows.open(this.#contract);
    this.#partitions.set(partition, rows);
    return rows;
  }

  #each<T>(ask: (rows: Sink) => Promise<T>): Promise<T[]> {
    return Promise.all(Array.from(this.#partitions.values(), ask));
  }
}

/** Records that a reader of committed records gets; those that lie among aborted ones or markers need a longer look. */
const FIRST_LOOK = 64n;
/** The rows of a view are judged at one moment, so nothing that is remembered grows old. */
const STILL = { wallMs: () => 0, monotonicMs: () => 0 };

export async function readView(
  options: TopicViewOptions,
  contract: VectorContract,
  signal: AbortSignal,
): Promise<TopicView> {
  const view = new TopicView(contract);
  const bounds = await options.admin.topicBounds(options.topic);
  const ranges = new Map(Array.from(bounds, ([partition, { low, end }]) => [partition, { from: low, to: end }]));
  await readRanges(
    options,
    ranges,
    async (messages) => {
      for (const message of messages) await view.apply(message);
      return 'more';
    },
    signal,
  );
  return view;
}

/** Whose vectors the last record is of; undefined for a topic that holds nothing. One of somebody else is refused. */
export async function lastContract(
  options: TopicViewOptions,
  signal: AbortSignal,
): Promise<RecordContract | undefined> {
  const bounds = [...(await options.admin.topicBounds(options.topic))];
  for (let look = FIRST_LOOK; ; look *= 64n) {
    const ranges = new Map<number, OffsetRange>(
      bounds.map(([partition, { low, end }]) => [partition, { from: end - low > look ? end - look : low, to: end }]),
    );
    let last: { readonly at: number; readonly contract: RecordContract | undefined } | undefined;
    await readRanges(
      options,
      ranges,
      async (messages) => {
        for (const { headers, timestampMs } of messages) {
          if (last === undefined || timestampMs >= last.at) last = { at: timestampMs, contract: contractOf(headers) };
        }
        return 'more';
      },
      signal,
    );
    if (last !== undefined) return last.contract ?? refuse(options.topic);
    if (bounds.every(([, { low, end }]) => end - look <= low)) return undefined;
  }
}

function refuse(topic: string): never {
  const remedy = 'name a topic of its own (RAG_SERVING_KAFKA_SINK_TOPIC)';
  const says = `Kafka topic ${topic} holds records that are not of this sink: ${remedy}`;
  throw new ServingError('SINK_SCHEMA_MISMATCH', says);
}
