/** Watches whether the group is shared with a deployment of another topic, and says so: once a finding, by name. */
import type { Log } from '../telemetry/log.ts';
import { findMisuse, type GroupMember, type GroupMisuse } from './group-check.ts';
import { kafkaError } from './kafka-errors.ts';

export type MisuseWatchOptions = {
  readonly topic: string;
  readonly groupId: string;
  readonly log: Log;
  readonly members: () => Promise<readonly GroupMember[]>;
};

/** The first look may find the group between two states, with members that show no metadata yet. */
const LOOK_AFTER_MS = [300, 2_000] as const;

export class MisuseWatch {
  readonly #options: MisuseWatchOptions;
  #foreign: readonly string[] = [];
  #misuse: GroupMisuse | undefined;
  #told = '';
  #timers: NodeJS.Timeout[] = [];

  constructor(options: MisuseWatchOptions) {
    this.#options = options;
  }

  /** Partitions of these topics were assigned to us, who do not read them. Comes before `joined`. */
  foreignTopics(topics: readonly string[]): void {
    this.#foreign = topics;
  }

  /** A generation has begun: any change of the group's members begins one. */
  joined(): void {
    this.close();
    const foreign = this.#foreign;
    this.#foreign = [];
    this.#found(foreign.length > 0 ? { ours: [this.#options.topic], others: [...foreign].sort() } : undefined);
    this.#timers = LOOK_AFTER_MS.map((ms) => setTimeout(() => void this.#look(), ms).unref());
  }

  /** Why this member gets nothing to read; undefined when it does, or when nothing is wrong. */
  starved(assignedPartitions: number): string | undefined {
    return this.#misuse !== undefined && assignedPartitions === 0 ? this.#sentence(this.#misuse) : undefined;
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }

  async #look(): Promise<void> {
    try {
      const misuse = findMisuse([this.#options.topic], await this.#options.members());
      if (misuse !== undefined) this.#found(misuse);
    } catch (error) {
      this.#options.log.debug('group members not readable', { code: kafkaError(error, 'describe the group').code });
    }
  }

  #found(misuse: GroupMisuse | undefined): void {
    this.#misuse = misuse;
    const sentence = misuse === undefined ? '' : this.#sentence(misuse);
    if (sentence !== '' && sentence !== this.#told) {
      const fields = {
        groupId: this.#options.groupId,
        ours: misuse?.ours,
        others: misuse?.others,
        code: 'KAFKA_GROUP_MISUSED',
      };
      this.#options.log.error('consumer group is shared with another topic', { ...fields, reason: sentence });
    }
    this.#told = sentence;
  }

  #sentence({ ours, others }: GroupMisuse): string {
    const { groupId } = this.#options;
    return `KAFKA_GROUP_MISUSED: group ${groupId} is shared by members of ${ours.join(', ')} and of ${others.join(', ')}; give each its own group id`;
  }
}
