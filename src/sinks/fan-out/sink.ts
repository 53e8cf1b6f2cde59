/**
 * Sink that keeps every row in several stores: each call goes to all at once, and the worst outcome counts.
 *
 * A row is `stored` only when every store holds it. A store that is away makes the whole call an outage: the retry writes
 * the row to the others a second time, which changes nothing there. What is read (count, search, fetch) is read from the
 * first store; nothing compares them.
 */
import { asServingError, ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { CommitPartner } from '../../offsets/commit-partner.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { openForReading } from '../contract-check.ts';
import type { CollectionDescription, RowOutcome, SearchHit, SearchScope, Sink, SinkRow, StoredRow } from '../sink.ts';
import { worstError, worstOutcomes } from './worst.ts';

export class FanOutSink implements Sink {
  readonly name: string;
  readonly #members: readonly Sink[];
  readonly #log: Log;
  /** Names of those that failed in the last call, so that a change is told once. */
  #away = '';
  #state: 'new' | 'open' | 'inspected' | 'closed' = 'new';

  constructor(members: readonly Sink[], log: Log) {
    if (members.length === 0) throw new ServingError('CONFIG_INVALID', 'RAG_SERVING_SINK names no store');
    this.#members = members;
    this.#log = log;
    this.name = members.map(({ name }) => name).join('+');
  }

  /** There is one such store at most: settings name each kind once. */
  get commits(): CommitPartner | undefined {
    return this.#members.find(({ commits }) => commits !== undefined)?.commits;
  }

  /** Every store checks dims and fingerprint for itself; one that refuses refuses for all. */
  async open(contract: VectorContract, signal?: AbortSignal): Promise<void> {
    if (this.#state !== 'new') {
      throw new ServingError('ARGUMENT_INVALID', `the sinks ${this.name} are ${this.#state} already`);
    }
    await this.#all((member) => member.open(contract, signal));
    this.#state = 'open';
  }

  /** Only the first store, which is the one that is read. */
  async inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined> {
    if (this.#state !== 'new') {
      throw new ServingError('ARGUMENT_INVALID', `the sinks ${this.name} are ${this.#state} already`);
    }
    const description = await this.#members[0]!.inspect(signal);
    if (description !== undefined) this.#state = 'inspected';
    return description;
  }

  write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    return this.#change((member) => member.write(rows, signal));
  }

  remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    return this.#change((member) => member.remove(deletions, signal));
  }

  async ping(signal?: AbortSignal): Promise<void> {
    const first = this.#require();
    if (this.#state === 'inspected') return first.ping(signal);
    await this.#all((member) => member.ping(signal));
  }

  async count(signal?: AbortSignal): Promise<number> {
    return this.#require().count(signal);
  }

  async search(
    vector: Float32Array,
    wanted: number | SearchScope,
    signal?: AbortSignal,
  ): Promise<readonly SearchHit[]> {
    return this.#require().search(vector, wanted, signal);
  }

  async fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    return this.#require().fetch(chunkIds, signal);
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    await Promise.allSettled(this.#members.map((member) => member.close()));
  }

  async #change(call: (member: Sink) => Promise<readonly RowOutcome[]>): Promise<readonly RowOutcome[]> {
    this.#require();
    if (this.#state === 'inspected') throw openForReading(this.name);
    return worstOutcomes(await this.#all(call));
  }

  /** Waits for every store, also when one has failed: nothing of a call goes on behind the caller's back. */
  async #all<T>(call: (member: Sink) => Promise<T>): Promise<readonly T[]> {
    // All begin before the first wait: the memory of a row is the caller's again after that.
    const ends = await Promise.allSettled(this.#members.map(call));
    const failures = ends.flatMap((end, index) =>
      end.status === 'rejected' ? [{ sink: this.#members[index]!.name, error: asServingError(end.reason) }] : [],
    );
    this.#tell(failures.map(({ sink }) => sink));
    if (failures.length > 0) throw worstError(failures);
    return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  }

  #tell(failed: readonly string[]): void {
    const away = failed.join(', ');
    if (away === this.#away) return;
    this.#away = away;
    if (away === '') this.#log.info('all stores take writes again', { sinks: this.name });
    else this.#log.warn('some stores fail, and the others wait for them', { failed: away, sinks: this.name });
  }

  /** The first store, which is the one that is read. */
  #require(): Sink {
    if (this.#state === 'open' || this.#state === 'inspected') return this.#members[0]!;
    throw new ServingError(
      'SINK_UNAVAILABLE',
      `the sinks ${this.name} are ${this.#state === 'closed' ? 'closed' : 'not open'}`,
    );
  }
}
