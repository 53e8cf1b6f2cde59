/**
 * Compares store and group with the model. It counts each fault once, however often it is seen again.
 *
 * Two comparisons. At any moment: what is committed is in the store, and no commit moves back. When all is quiet: nothing
 * is left to do, and the store holds exactly the newest of everything.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosBroker } from './broker.ts';
import type { FaultKind, ProducedModel, Verdict } from './model.ts';
import type { ChaosStore, StoreContents } from './store.ts';

const EVERY_MS = 500;
const LOOKS_AT_A_STEP_BACK = 5;
const LOOK_AGAIN_MS = 1_000;
/** Longer than a broker waits for a transaction that nobody ends. */
const SEEN_WITHIN_MS = 40_000;

export class Checker {
  readonly counts: Record<FaultKind, number> = { lost: 0, stale: 0, resurrected: 0, wrongVectors: 0 };
  readonly #model: ProducedModel;
  readonly #broker: ChaosBroker;
  readonly #store: ChaosStore;
  readonly #onFault: (says: string) => void;
  readonly #seen = new Set<string>();
  #committed: readonly bigint[];
  #times = 0;

  constructor(model: ProducedModel, broker: ChaosBroker, store: ChaosStore, onFault: (says: string) => void) {
    this.#model = model;
    this.#broker = broker;
    this.#store = store;
    this.#onFault = onFault;
    this.#committed = model.ends.map(() => 0n);
  }

  /** Comparisons while load and faults went on. */
  get times(): number {
    return this.#times;
  }

  /** Compares again and again while load and faults go on; resolves when the one that is under way has ended. */
  watch(signal: AbortSignal): Promise<void> {
    const watching = async () => {
      for (; !signal.aborted; await sleep(EVERY_MS)) {
        const read = await this.#readBoth();
        // Broker and store cannot always be asked.
        if (read === undefined) continue;
        if (this.#store.lagsBehindCommits !== true) this.#judge(read.rows, read.committed);
        this.#times++;
      }
    };
    return watching();
  }

  /** Partitions whose commit has not reached the end. */
  async unfinished(): Promise<string[]> {
    const committed = await this.#readCommitted();
    return this.#model.ends.flatMap((end, partition) =>
      committed[partition] === end ? [] : [`partition ${partition}: ${committed[partition]} of ${end}`],
    );
  }

  /** Once nothing is sent any more and all is committed. */
  async whenQuiet(): Promise<void> {
    const { rows, counted, repeated = [] } = await this.#readAll();
    for (const row of repeated) this.#tellOnce(`repeated ${row}`, `repeated: ${row} is in the topic more than once`);
    const wrong = this.#judge(rows, this.#model.ends);
    if (counted !== rows.size) this.#onFault(`the store counts ${counted} rows and holds ${rows.size}`);
    const letters = await this.#broker.count(`${this.#broker.topic}.dlq`);
    if (letters > 0n) this.#tellOnce(`letters ${letters}`, `${letters} dead letters`);
    this.#model.compact(wrong);
  }

  /** Once more where what is committed is not seen yet, for as long as that may take. */
  async #readAll(): Promise<StoreContents> {
    for (const until = Date.now() + SEEN_WITHIN_MS; ; await sleep(LOOK_AGAIN_MS)) {
      const contents = await this.#store.read(this.#model.chunkIds);
      if (this.#store.lagsBehindCommits !== true || Date.now() > until) return contents;
      const ids = [...new Set([...this.#model.chunkIds, ...contents.rows.keys()])];
      const isRight = (id: string) => this.#model.judge(id, contents.rows.get(id), this.#model.ends).length === 0;
      if (ids.every(isRight)) return contents;
    }
  }

  /** Ids of chunks that are not as they must be. */
  #judge(rows: StoreContents['rows'], committed: readonly bigint[]): ReadonlySet<string> {
    const wrong = new Set<string>();
    for (const id of new Set([...this.#model.chunkIds, ...rows.keys()])) {
      for (const verdict of this.#model.judge(id, rows.get(id), committed)) {
        wrong.add(id);
        this.#count(verdict);
      }
    }
    return wrong;
  }

  #count({ kind, chunkId, revision, says }: Verdict): void {
    if (!this.#tellOnce(`${kind} ${chunkId} ${revision}`, `${kind}: ${chunkId} ${says}`)) return;
    this.counts[kind]++;
  }

  #tellOnce(key: string, says: string): boolean {
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    this.#onFault(says);
    return true;
  }

  /** Commits first: what is committed by then must be in what is read after it. */
  async #readBoth() {
    try {
      const committed = await this.#readCommitted();
      const { rows } = await this.#store.read(this.#model.chunkIds);
      return { committed, rows };
    } catch {
      return undefined;
    }
  }

  /**
   * A broker that has just been killed and started may for a moment answer with commits from long before (Kafka 4.4, while
   * its high watermark is that of the last checkpoint): what moves back is looked at again before it is a fault.
   */
  async #readCommitted(): Promise<readonly bigint[]> {
    let committed = await this.#broker.committed(this.#model.ends.length);
    for (let look = 1; look < LOOKS_AT_A_STEP_BACK && this.#stepsBack(committed).length > 0; look++) {
      await sleep(LOOK_AGAIN_MS);
      committed = await this.#broker.committed(this.#model.ends.length);
    }
    for (const partition of this.#stepsBack(committed)) {
      const before = this.#committed[partition];
      this.#onFault(`the commit of partition ${partition} moved back from ${before} to ${committed[partition]}`);
    }
    this.#committed = committed;
    return committed;
  }

  #stepsBack(committed: readonly bigint[]): number[] {
    return [...this.#committed.keys()].filter((partition) => committed[partition]! < this.#committed[partition]!);
  }
}
