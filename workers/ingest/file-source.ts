/**
 * Files as a source of records: the same decoder, ledger and bound of what is in flight as for a topic.
 *
 * One file after another, in order, so that of two chunks of one id the later one stays. Reading waits while the bound is
 * reached and while the pipeline asks for it.
 */
import type { ServingError } from '../../src/errors.ts';
import { type DecodeOptions, decodeMessage } from '../../src/kafka/decode.ts';
import { Flow, type FlowLimits } from '../../src/kafka/flow.ts';
import type { Source, SourceHandler } from '../../src/kafka/source.ts';
import type { RecordInFlight } from '../../src/records/travel.ts';
import { readProblem } from '../files/open-bytes.ts';
import { type Entry, type EntryOptions, entriesOf } from './entries.ts';
import { fileIdentity } from './identity.ts';
import type { OpenFile } from './open-file.ts';
import type { Reject } from './rejects.ts';

export type FileSourceOptions = {
  readonly files: readonly OpenFile[];
  readonly entries: EntryOptions;
  readonly decode: DecodeOptions;
  readonly flow: FlowLimits;
  /** Most chunks to take in. */
  readonly limit: number;
  readonly onRejected: (reject: Reject) => void;
  /** How much has been read, and how many chunks this run has brought to an end. */
  readonly onProgress: (readBytes: number, ended: number) => void;
  /** A file cannot be read to its end. */
  readonly onProblem: (file: OpenFile) => void;
  readonly identityOf?: (path: string) => Promise<string>;
};

/** How many records are handed over at once. */
const HANDFUL = 256;

export class FileSource implements Pick<Source, 'pause' | 'resume'> {
  readonly #options: FileSourceOptions;
  readonly #flow: Flow;
  readonly #paused = new Set<string>();
  readonly #waiters: (() => void)[] = [];
  #taken = 0;
  #ended = 0;
  #readBytes = 0;
  #readBefore = 0;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#flow = new Flow(options.flow);
  }

  pause(reason: string): void {
    this.#paused.add(reason);
  }

  resume(reason: string): void {
    this.#paused.delete(reason);
    this.#wake();
  }

  get isLimited(): boolean {
    return this.#taken >= this.#options.limit;
  }

  /** Resolves when all has been read, the limit is reached or the signal aborts; what was taken in may be in flight then. */
  async run(handler: Pick<SourceHandler, 'onRecords'>, signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    signal.addEventListener('abort', wake);
    try {
      for (const file of this.#options.files) {
        if (signal.aborted || this.isLimited) return;
        if (!file.isRead) await this.#read(file, handler, signal);
        this.#readBefore += file.input.bytes;
        this.#tell(this.#readBefore);
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  async #read(file: OpenFile, handler: Pick<SourceHandler, 'onRecords'>, signal: AbortSignal): Promise<void> {
    const { entries, identityOf = fileIdentity, onProblem } = this.#options;
    let records: RecordInFlight[] = [];
    const handOver = () => {
      const handed = records;
      records = [];
      if (handed.length > 0) handler.onRecords(handed);
    };
    try {
      for await (const entry of entriesOf(file.input, entries)) {
        if (signal.aborted || this.isLimited) break;
        this.#tell(this.#readBefore + entry.readBytes);
        if (file.ledger.isKnown(BigInt(entry.position))) continue;
        const bytes = entry.value?.byteLength ?? 0;
        if (!this.#hasRoom(file, bytes)) {
          handOver();
          while (!signal.aborted && !this.#hasRoom(file, bytes)) await this.#settled();
          if (signal.aborted) break;
        }
        for (const record of this.#take(file, entry, bytes)) records.push(record);
        if (records.length >= HANDFUL) handOver();
      }
      if (!signal.aborted && !this.isLimited) {
        if (file.input.path !== '-' && (await identityOf(file.input.path)) !== file.identity) {
          throw new Error('has been changed while it was read; ingest it again with --restart');
        }
        file.isRead = true;
      }
    } catch (error) {
      if (isArgumentError(error)) throw error;
      file.problem = readProblem(error);
      onProblem(file);
    }
    handOver();
  }

  #take(file: OpenFile, entry: Entry, bytes: number): RecordInFlight[] {
    const id = { topic: file.topic, partition: 0 };
    const { settle, load } = file.take(entry, (chunks, rejects) => {
      this.#flow.remove(id, chunks, bytes);
      for (const reject of rejects) this.#options.onRejected(reject);
      this.#ended += chunks;
      this.#tell(this.#readBytes);
      this.#wake();
    });
    const raw = file.rawOf(entry, Date.now());
    const decoded: RecordInFlight[] =
      entry.problem === undefined
        ? decodeMessage(raw, this.#options.decode, settle)
        : [{ kind: 'reject', error: entry.problem, raw, index: undefined, settle }];
    load.chunks = decoded.length;
    this.#taken += decoded.length;
    this.#flow.add(id, decoded.length, bytes);
    return decoded;
  }

  #hasRoom(file: OpenFile, bytes: number): boolean {
    return this.#paused.size === 0 && this.#flow.admission({ topic: file.topic, partition: 0 }, bytes, 1) === 'admit';
  }

  #tell(readBytes: number): void {
    this.#readBytes = readBytes;
    this.#options.onProgress(readBytes, this.#ended);
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}

function isArgumentError(error: unknown): error is ServingError {
  return error instanceof Error && 'code' in error && error.code === 'ARGUMENT_INVALID';
}
