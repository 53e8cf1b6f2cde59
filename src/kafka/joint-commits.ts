/**
 * The source's side of commits that are made by a partner (src/offsets/commit-partner.ts): gained partitions are claimed
 * before the broker's view of them is read, because only then nobody else can commit them any more.
 *
 * A claim shuts out whoever has the partition, also its rightful owner. So after the claims the group is asked whether this
 * member is still one of its generation: then a later owner will claim later, and shut this one out.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServingError } from '../errors.ts';
import type { CommitPartner } from '../offsets/commit-partner.ts';
import { type PartitionId, partitionKey } from '../offsets/epochs.ts';
import { type BrokerOffset, NOTHING_COMMITTED } from '../offsets/opening.ts';
import type { Log } from '../telemetry/log.ts';
import { kafkaError, mayHeal } from './kafka-errors.ts';
import type { Partitions } from './partitions.ts';

export type JointCommitsOptions = {
  readonly partner: CommitPartner;
  readonly partitions: Pick<Partitions, 'epochInFlight'>;
  /** Asks the broker, with the generation of the last assignment. */
  readonly isMember: () => Promise<boolean>;
  readonly held: () => Promise<ReadonlyMap<number, BrokerOffset>>;
  readonly gate: { pause(reason: string): void; resume(reason: string): void };
  readonly hasten: () => void;
  readonly log: Log;
  readonly onFenced: (id: PartitionId) => void;
  readonly onFatal: (error: ServingError) => void;
};

const RETRY_DELAY_MS = 500;
const FULL = 'rows wait for a commit';

export class JointCommits {
  readonly #options: JointCommitsOptions;
  readonly #claimed = new Set<string>();
  #claiming: Promise<unknown> = Promise.resolve();
  #isFull = false;

  constructor(options: JointCommitsOptions) {
    this.#options = options;
    const { partner, partitions, isMember, held, onFenced } = options;
    partner.attach({
      epochInFlight: (position) => partitions.epochInFlight(position),
      isMember,
      held: async ({ partition }) => (await held()).get(partition) ?? NOTHING_COMMITTED,
      onFenced,
    });
  }

  /** A message has ended, so its rows wait for a commit. */
  noteSettled(): void {
    if (!this.#isFull && this.lookForRoom()) this.#options.hasten();
  }

  /** Nothing is fetched while the partner keeps too much; only commits relieve it. Answers whether it does. */
  lookForRoom(): boolean {
    const { partner, gate } = this.#options;
    if (partner.isFull === this.#isFull) return this.#isFull;
    this.#isFull = partner.isFull;
    if (this.#isFull) gate.pause(FULL);
    else gate.resume(FULL);
    return this.#isFull;
  }

  release(ids: readonly PartitionId[]): void {
    for (const id of ids) this.#claimed.delete(partitionKey(id));
    this.#options.partner.release(ids);
    this.lookForRoom();
  }

  /** Resolves when all are claimed, or the assignment is over; never rejects. */
  claim(ids: readonly PartitionId[], isCurrent: () => boolean): Promise<void> {
    // One assignment after the other: two claims of one partition would shut each other out.
    const claiming = this.#claiming.then(() => this.#claimAll(ids, isCurrent));
    this.#claiming = claiming;
    return claiming;
  }

  async #claimAll(ids: readonly PartitionId[], isCurrent: () => boolean): Promise<void> {
    const { partner, isMember, log, onFatal } = this.#options;
    const open = ids.filter((id) => !this.#claimed.has(partitionKey(id)));
    while (open.length > 0 && isCurrent()) {
      try {
        await Promise.all(open.map((id) => partner.claim(id)));
        if (isCurrent() && (await isMember()) && isCurrent()) {
          for (const id of open) this.#claimed.add(partitionKey(id));
          return;
        }
        log.debug('partitions claimed in a generation that is over or not to be confirmed; claimed again');
      } catch (error) {
        const known = kafkaError(error, 'claim partitions');
        if (!mayHeal(known)) return onFatal(known);
        log.warn('partitions not claimed yet; they wait', { code: known.code, reason: known.message });
      }
      partner.release(open);
      await sleep(RETRY_DELAY_MS, undefined, { ref: false });
    }
  }
}
