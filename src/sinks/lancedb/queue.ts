/**
 * The one lane into a table: writes, deletions and compaction one after the other, never two at once.
 *
 * LanceDB lets concurrent merges insert the same key twice and makes a merge conflict with a compaction. One lane avoids
 * both, and writes that wait in it become one commit: 2,048 rows cost little more than 256.
 */
type WriteJob<Row, Outcome> = {
  readonly kind: 'write';
  readonly rows: readonly Row[];
  readonly resolve: (outcomes: readonly Outcome[]) => void;
  readonly reject: (error: unknown) => void;
};

type SoloJob = { readonly kind: 'alone'; readonly run: () => Promise<void> };

export class WriterQueue<Row, Outcome> {
  readonly #writeGroup: (rows: readonly Row[]) => Promise<readonly Outcome[]>;
  readonly #maxGroupRows: number;
  readonly #jobs: (WriteJob<Row, Outcome> | SoloJob)[] = [];
  #running: Promise<void> | undefined;

  /** `writeGroup` answers one outcome a row, in order. */
  constructor(writeGroup: (rows: readonly Row[]) => Promise<readonly Outcome[]>, maxGroupRows: number) {
    this.#writeGroup = writeGroup;
    this.#maxGroupRows = maxGroupRows;
  }

  write(rows: readonly Row[]): Promise<readonly Outcome[]> {
    return new Promise((resolve, reject) => this.#add({ kind: 'write', rows, resolve, reject }));
  }

  /** Runs when everything that came before is done, with nothing beside it. */
  alone<T>(task: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => this.#add({ kind: 'alone', run: () => task().then(resolve, reject) }));
  }

  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #add(job: WriteJob<Row, Outcome> | SoloJob): void {
    this.#jobs.push(job);
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    for (let job = this.#jobs.shift(); job !== undefined; job = this.#jobs.shift()) {
      if (job.kind === 'alone') await job.run();
      else await this.#runGroup([job, ...this.#takeWritesBehind(job.rows.length)]);
    }
    this.#running = undefined;
  }

  #takeWritesBehind(rows: number): WriteJob<Row, Outcome>[] {
    const taken: WriteJob<Row, Outcome>[] = [];
    let total = rows;
    for (let next = this.#jobs[0]; next?.kind === 'write'; next = this.#jobs[0]) {
      total += next.rows.length;
      if (total > this.#maxGroupRows) break;
      taken.push(next);
      this.#jobs.shift();
    }
    return taken;
  }

  async #runGroup(group: readonly WriteJob<Row, Outcome>[]): Promise<void> {
    try {
      const outcomes = await this.#writeGroup(group.flatMap((job) => job.rows));
      let at = 0;
      for (const job of group) job.resolve(outcomes.slice(at, (at += job.rows.length)));
    } catch (error) {
      for (const job of group) job.reject(error);
    }
  }
}
