/** The topics that letters are replayed to: they must be there, and a partition that is gone is chosen anew by the key. */
import { ServingError } from '../../src/errors.ts';
import type { KafkaAdmin } from '../../src/kafka/admin.ts';
import type { Replay } from '../../src/kafka/redrive-record.ts';

export class Targets {
  readonly #admin: Pick<KafkaAdmin, 'topicExists' | 'topicBounds'>;
  readonly #partitions = new Map<string, ReadonlySet<number>>();

  constructor(admin: Pick<KafkaAdmin, 'topicExists' | 'topicBounds'>) {
    this.#admin = admin;
  }

  /** Rejects with KAFKA_TOPIC_UNKNOWN where nothing can be replayed to. */
  async placed(replay: Replay): Promise<Replay> {
    const partitions = await this.#partitionsOf(replay.topic);
    const { partition, ...elsewhere } = replay.message;
    return partition === undefined || partitions.has(partition) ? replay : { ...replay, message: elsewhere };
  }

  async #partitionsOf(topic: string): Promise<ReadonlySet<number>> {
    const known = this.#partitions.get(topic);
    if (known !== undefined) return known;
    if (!(await this.#admin.topicExists(topic))) {
      throw new ServingError(
        'KAFKA_TOPIC_UNKNOWN',
        `topic ${topic}, which dead letters are to be replayed to, does not exist; create it, or give another as --to-topic`,
      );
    }
    const partitions = new Set((await this.#admin.topicBounds(topic)).keys());
    this.#partitions.set(topic, partitions);
    return partitions;
  }
}
