/**
 * Template of a sink: every row as a line of an NDJSON file, `<folder>/<collection>.ndjson`. Copy it, and put your store in
 * the place of the file.
 *
 * What it does with lines, a real store does with its own means: one durable write a call (`#append`), an answer only after
 * it, the contract of the vectors kept beside the rows, deletions remembered. All rows are in memory too, so it is for small
 * collections. One process writes a file.
 */
import { mkdir, open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  checkQuery,
  contractMismatch,
  cosine,
  decodeVector,
  Nearest,
  openForReading,
  planRemoval,
  planWrite,
  readContract,
  scopeOf,
  screenRows,
  ServingError,
  throwIfAborted,
  Tombstones,
  type CollectionContract,
  type CollectionDescription,
  type CollectionName,
  type CreateSink,
  type Deletion,
  type Log,
  type RowOutcome,
  type SearchHit,
  type SearchScope,
  type Sink,
  type SinkRow,
  type SourcePosition,
  type StoredRow,
  type Tombstone,
  type VectorContract,
} from 'rag-inference-serving/sink';

/** What RAG_SERVING_SINK_MODULE names a module for. */
export const createSink: CreateSink = ({ options, tombstoneRetentionMs, allowMixedFingerprints, log }) => {
  const { folder, collection = 'chunks' } = options;
  if (typeof folder !== 'string' || typeof collection !== 'string' || !/^[\w-]{1,64}$/.test(collection)) {
    throw new ServingError(
      'CONFIG_INVALID',
      'the NDJSON sink needs RAG_SERVING_SINK_MODULE_OPTIONS like {"folder":"./data","collection":"chunks"}',
    );
  }
  return new NdjsonSink({ folder, collection, tombstoneRetentionMs, allowMixedFingerprints, log });
};

type Settings = {
  readonly folder: string;
  readonly collection: string;
  readonly tombstoneRetentionMs: number;
  readonly allowMixedFingerprints: boolean;
  readonly log: Log;
};

type JsonPlace = Omit<SourcePosition, 'offset'> & { readonly offset: string };
type JsonRow = Omit<StoredRow, 'vector' | 'source' | 'tenantId' | 'text' | 'metadata' | 'version'> &
  Partial<Pick<StoredRow, 'tenantId' | 'text' | 'metadata' | 'version'>> & {
    readonly vector: string;
    readonly source: JsonPlace;
  };
type JsonMark = Omit<Tombstone, 'source'> & { readonly source: JsonPlace };

type Line =
  | { readonly contract: CollectionContract }
  | { readonly row: JsonRow }
  | { readonly deleted: readonly string[]; readonly marks: readonly JsonMark[] };

class NdjsonSink implements Sink {
  readonly name = 'ndjson';
  readonly #settings: Settings;
  readonly #path: string;
  readonly #rows = new Map<string, StoredRow>();
  readonly #tombstones: Tombstones;
  #file: FileHandle | undefined;
  #contract: VectorContract | undefined;
  #stored: CollectionContract | undefined;
  #isClosed = false;
  /** Writes one after the other: what is decided from the rows must still hold when it is written. */
  #lane: Promise<unknown> = Promise.resolve();

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#path = join(settings.folder, `${settings.collection}.ndjson`);
    this.#tombstones = new Tombstones(settings.tombstoneRetentionMs);
  }

  async open(contract: VectorContract): Promise<void> {
    await outage('opening', async () => {
      await mkdir(this.#settings.folder, { recursive: true });
      const wholeBytes = this.#read(await readFile(this.#path).catch(emptyIfMissing));
      this.#checkContract(contract);
      const file = await open(this.#path, 'a');
      this.#file = file;
      // A process that was killed left half a line behind; nobody was told that it is stored.
      await file.truncate(wholeBytes);
      this.#contract = contract;
      const { fingerprint, dims, dtype } = contract;
      if (this.#stored === undefined) await this.#append([{ contract: { fingerprint, dims, dtype } }]);
    });
    this.#settings.log.info('NDJSON file is open', { rows: this.#rows.size });
  }

  async inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined> {
    throwIfAborted(signal, 'NDJSON sink');
    return outage('reading', async () => {
      this.#read(await readFile(this.#path).catch(emptyIfMissing));
      const contract = this.#stored && readContract(this.#stored);
      if (contract === undefined) return undefined;
      this.#contract = { ...contract, modelName: '', maxBatch: 1 };
      return { ...this.#named(), ...contract, rows: this.#rows.size, index: 'exact scan of all rows' };
    });
  }

  write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    return this.#change(signal, rows, async (contract, nowMs, accepted) => {
      const plan = planWrite(accepted, this.#rows, (row) => this.#tombstones.covers(row, nowMs));
      const stored = plan.winners.map((row) => ({ ...row, fingerprint: contract.fingerprint }));
      await this.#append(stored.map((row) => ({ row: toJson(row) })));
      for (const row of stored) this.#rows.set(row.chunkId, row);
      return plan.outcomes;
    });
  }

  remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    return this.#change(signal, [], async (_contract, nowMs) => {
      this.#tombstones.expire(nowMs);
      const plan = planRemoval(deletions, [...this.#rows.values()], (one) => this.#tombstones.repeats(one, nowMs));
      const marks = plan.marks.map((mark) => ({ ...mark, deletedAtMs: nowMs }));
      const lines = marks.map((mark) => ({ ...mark, source: placeToJson(mark.source) }));
      await this.#append([{ deleted: plan.chunkIds, marks: lines }]);
      this.#forget(plan.chunkIds, marks);
      return plan.outcomes;
    });
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#opened(signal);
    await outage('ping', async () => void (await this.#file?.stat()));
  }

  async count(signal?: AbortSignal): Promise<number> {
    this.#opened(signal);
    return this.#rows.size;
  }

  async search(
    vector: Float32Array,
    wanted: number | SearchScope,
    signal?: AbortSignal,
  ): Promise<readonly SearchHit[]> {
    const contract = this.#opened(signal);
    const { limit, tenantId: only } = scopeOf(wanted);
    checkQuery(vector, limit, contract);
    const nearest = new Nearest<StoredRow>(limit);
    for (const row of this.#rows.values()) {
      if (only !== undefined && row.tenantId !== only) continue;
      nearest.offer(cosine(vector, decodeVector(row.vector, contract.dtype)), row);
    }
    return nearest.best().map(({ score, item: { chunkId, documentId, tenantId, text, metadata } }) => {
      return { chunkId, documentId, tenantId, score, text, metadata };
    });
  }

  async fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    this.#opened(signal);
    return chunkIds.flatMap((id) => this.#rows.get(id) ?? []);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lane.catch(() => {});
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  /** Screens rows (wrong length, broken text) first: they are refused, and the others go on. */
  async #change(
    signal: AbortSignal | undefined,
    rows: readonly SinkRow[],
    work: (contract: VectorContract, nowMs: number, accepted: readonly SinkRow[]) => Promise<readonly RowOutcome[]>,
  ): Promise<readonly RowOutcome[]> {
    const contract = this.#opened(signal);
    if (this.#file === undefined) throw openForReading(this.name);
    const screened = screenRows(rows, contract);
    const done = this.#lane.then(() => outage('write', () => work(contract, Date.now(), screened.accepted)));
    this.#lane = done.catch(() => {});
    const outcomes = await done;
    return rows.length === 0 ? outcomes : screened.complete(outcomes);
  }

  /** On the disk when it resolves. */
  async #append(lines: readonly Line[]): Promise<void> {
    if (lines.length === 0 || this.#file === undefined) return;
    await this.#file.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    await this.#file.datasync();
  }

  /** Bytes up to the last whole line. */
  #read(bytes: Buffer): number {
    const wholeBytes = bytes.lastIndexOf('\n') + 1;
    for (const text of bytes.subarray(0, wholeBytes).toString('utf8').split('\n')) {
      if (text === '') continue;
      const line = JSON.parse(text) as Line;
      if ('contract' in line) this.#stored = line.contract;
      else if ('row' in line) this.#rows.set(line.row.chunkId, fromJson(line.row));
      else {
        const marks = line.marks.map((mark) => ({ ...mark, source: placeFromJson(mark.source) }));
        this.#forget(line.deleted, marks);
      }
    }
    return wholeBytes;
  }

  #forget(chunkIds: readonly string[], marks: readonly Tombstone[]): void {
    for (const id of chunkIds) this.#rows.delete(id);
    for (const mark of marks) this.#tombstones.record(mark);
  }

  #named(): CollectionName {
    return { collection: `NDJSON file ${this.#path}`, setting: 'RAG_SERVING_SINK_MODULE_OPTIONS' };
  }

  #checkContract(contract: VectorContract): void {
    if (this.#stored === undefined) return;
    const mismatch = contractMismatch(this.#stored, contract, this.#named(), this.#settings.allowMixedFingerprints);
    if (mismatch !== undefined) throw mismatch;
  }

  #opened(signal: AbortSignal | undefined): VectorContract {
    throwIfAborted(signal, 'NDJSON sink');
    if (this.#contract !== undefined && !this.#isClosed) return this.#contract;
    throw new ServingError('SINK_UNAVAILABLE', `the NDJSON sink is ${this.#isClosed ? 'closed' : 'not open'}`);
  }
}

/** Whatever the disk says is an outage: the rows are kept and come again. Full has a code of its own. */
async function outage<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ServingError) throw cause;
    const isFull = (cause as NodeJS.ErrnoException).code === 'ENOSPC';
    throw new ServingError(isFull ? 'SINK_FULL' : 'SINK_UNAVAILABLE', `NDJSON ${what} failed`, { cause });
  }
}

function emptyIfMissing(error: NodeJS.ErrnoException): Buffer {
  if (error.code === 'ENOENT') return Buffer.alloc(0);
  throw error;
}

/** JSON knows neither bytes nor 64-bit integers. */
function toJson({ vector, source, ...rest }: StoredRow): JsonRow {
  return { ...rest, vector: Buffer.from(vector).toString('base64'), source: placeToJson(source) };
}

function fromJson({ vector, source, ...rest }: JsonRow): StoredRow {
  return {
    // What is undefined is not in the line.
    ...{ tenantId: undefined, text: undefined, metadata: undefined, version: undefined },
    ...rest,
    vector: new Uint8Array(Buffer.from(vector, 'base64')),
    source: placeFromJson(source),
  };
}

function placeToJson({ offset, ...rest }: SourcePosition): JsonPlace {
  return { ...rest, offset: String(offset) };
}

function placeFromJson({ offset, ...rest }: JsonPlace): SourcePosition {
  return { ...rest, offset: BigInt(offset) };
}
