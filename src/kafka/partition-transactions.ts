/**
 * Commits of a group together with records of a topic: one transactional producer for each partition that is read.
 *
 * Its id is named after the partition, so that opening it shuts out whoever read the partition before: a process that was
 * frozen, or one that does not know yet that it has lost it. kafkajs cannot tell the broker of which generation a commit is;
 * this stands in for it. After a failed transaction nobody knows whether it was carried out: the id is taken over once more,
 * which ends it one way or the other, and the group's offset then says which.
 */
import { ServingError } from '../errors.ts';
import type { CommitPartner, SourceSide } from '../offsets/commit-partner.ts';
import type { Commit } from '../offsets/commit-plan.ts';
import { type PartitionId, type PartitionKey, partitionKey } from '../offsets/epochs.ts';
import type { BrokerOffset } from '../offsets/opening.ts';
import { unavailable } from './commit-channel.ts';
import type { OutgoingMessage } from './producer.ts';
import type { ReadOffset } from './transactional-producer.ts';

/** What waits for a commit. */
export type WaitingRecords = {
  readonly isFull: boolean;
  /** All that the commit covers, in the order in which it is to be written. They wait on until `written`. */
  covered(commit: Commit): readonly OutgoingMessage[];
  written(commit: Commit): void;
  forget(id: PartitionId): void;
};

/** As far as it is used of TransactionalProducer. */
export type PartitionProducer = {
  open(): Promise<void>;
  write(messages: readonly OutgoingMessage[], read: ReadOffset): Promise<void>;
  close(): Promise<void>;
};

export type PartitionTransactionsOptions = {
  readonly groupId: string;
  readonly records: WaitingRecords;
  readonly createProducer: (id: PartitionId) => PartitionProducer;
};

type Claim = {
  readonly id: PartitionId;
  /** Undefined after a failure, until the id is taken over again. */
  producer: PartitionProducer | undefined;
  /** What the broker holds, of this claim's own knowledge. */
  held: BrokerOffset;
  /** Of the last commit. */
  epoch: number | undefined;
  /** A commit of which nobody knows whether it was carried out. */
  unsure: Commit | undefined;
  /** The last of the commits that wait for each other. */
  queue: Promise<void>;
};

export class PartitionTransactions implements CommitPartner {
  readonly #options: PartitionTransactionsOptions;
  readonly #claims = new Map<PartitionKey, Claim>();
  #source: SourceSide | undefined;

  constructor(options: PartitionTransactionsOptions) {
    this.#options = options;
  }

  get groupId(): string {
    return this.#options.groupId;
  }

  get isFull(): boolean {
    return this.#options.records.isFull;
  }

  /** Undefined while no source commits through this. */
  get source(): SourceSide | undefined {
    return this.#source;
  }

  attach(source: SourceSide): void {
    this.#source = source;
  }

  async claim(id: PartitionId): Promise<void> {
    if (this.#claims.has(partitionKey(id))) return;
    const producer = this.#options.createProducer(id);
    try {
      await producer.open();
      const held = await this.#requireSource().held(id);
      const claim: Claim = { id, producer, held, epoch: undefined, unsure: undefined, queue: Promise.resolve() };
      this.#claims.set(partitionKey(id), claim);
    } catch (error) {
      void producer.close();
      throw error;
    }
  }

  release(ids: readonly PartitionId[]): void {
    for (const id of ids) {
      const claim = this.#claims.get(partitionKey(id));
      this.#claims.delete(partitionKey(id));
      this.#options.records.forget(id);
      // A transaction that is under way may end: until somebody claims the partition it is still ours.
      void claim?.queue.then(() => claim.producer?.close());
    }
  }

  async commit(commits: readonly Commit[]): Promise<void> {
    const ends = await Promise.allSettled(commits.map((commit) => this.#queued(commit)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async close(): Promise<void> {
    const claims = [...this.#claims.values()];
    this.#claims.clear();
    await Promise.all(claims.map(({ producer }) => producer?.close()));
  }

  #queued(commit: Commit): Promise<void> {
    const claim = this.#claims.get(partitionKey(commit));
    if (claim === undefined) return Promise.reject(unavailable(`partition ${commit.partition} is not claimed`));
    const attempt = claim.queue.then(() => this.#commitOne(claim, commit));
    claim.queue = attempt.catch(() => undefined);
    return attempt;
  }

  async #commitOne(claim: Claim, commit: Commit): Promise<void> {
    const producer = claim.producer ?? (await this.#takeOver(claim));
    this.#requireClaimed(claim);
    if (isHeld(claim.held, commit)) return;
    // An earlier plan that a later one has overtaken. In another epoch it is another log, which may begin further back.
    if (claim.epoch === commit.epoch && commit.offset < claim.held.offset) return;
    const { records, groupId } = this.#options;
    const { topic, partition, offset, metadata } = commit;
    claim.unsure = commit;
    try {
      await producer.write(records.covered(commit), { groupId, topic, partition, offset, metadata });
    } catch (error) {
      claim.producer = undefined;
      void producer.close();
      throw this.#judged(claim, error);
    }
    this.#done(claim, commit);
  }

  /** Ends whatever was begun under the id, and learns how it ended. */
  async #takeOver(claim: Claim): Promise<PartitionProducer> {
    this.#requireClaimed(claim);
    const source = this.#requireSource();
    const producer = this.#options.createProducer(claim.id);
    try {
      await producer.open();
      // In this order: who is a member after having taken the id over is not shut out by anyone but a later owner.
      if (!(await source.isMember())) throw unavailable('not sure to be a member of the group');
      const held = await source.held(claim.id);
      this.#requireClaimed(claim);
      if (claim.unsure !== undefined && isHeld(held, claim.unsure)) this.#done(claim, claim.unsure);
      else if (!isHeld(claim.held, held)) throw this.#fenced(claim);
      claim.unsure = undefined;
      claim.producer = producer;
      return producer;
    } catch (error) {
      void producer.close();
      throw this.#judged(claim, error);
    }
  }

  #done(claim: Claim, commit: Commit): void {
    claim.unsure = undefined;
    claim.held = { offset: commit.offset, metadata: commit.metadata };
    claim.epoch = commit.epoch;
    if (this.#isClaimed(claim)) this.#options.records.written(commit);
  }

  /** To be shut out is no fault of ours and no end: the group says whose the partition is. */
  #judged(claim: Claim, error: unknown): unknown {
    return error instanceof ServingError && error.code === 'KAFKA_TRANSACTION_FENCED' ? this.#fenced(claim) : error;
  }

  #fenced(claim: Claim): ServingError {
    if (this.#isClaimed(claim)) this.#source?.onFenced(claim.id);
    return unavailable(`partition ${claim.id.partition} was taken over by another process`);
  }

  #isClaimed(claim: Claim): boolean {
    return this.#claims.get(partitionKey(claim.id)) === claim;
  }

  #requireClaimed(claim: Claim): void {
    if (!this.#isClaimed(claim)) throw unavailable(`partition ${claim.id.partition} has left`);
  }

  #requireSource(): SourceSide {
    if (this.#source !== undefined) return this.#source;
    throw new ServingError('ARGUMENT_INVALID', 'a partner of commits needs a source before it claims partitions');
  }
}

function isHeld(held: BrokerOffset, { offset, metadata }: Pick<Commit, 'offset' | 'metadata'>): boolean {
  return held.offset === offset && held.metadata === metadata;
}
