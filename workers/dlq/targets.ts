/**
 * The topics that letters are replayed to: they must be there, and a partition that is gone is chosen anew by the key.
 *
 * Without a key it is chosen here: kafkajs would choose another one each time it repeats a request, and a broker that has the
 * first already would not know the second as its repetition.
 */
import { ServingError } from '../../src/errors.ts';
import type { KafkaAdmin } from '../../src/kafka/admin.ts';
import type { Letter } from '../../src/kafka/letter.ts';
import type { Replay } from '../../src/kafka/redrive-record.ts';

export class Targets {
  readonly #admin: Pick<KafkaAdmin, 'topicExists' | 'topicBounds'>;
  readonly #partitions = new Map<string, ReadonlySet<number>>();

  constructor(admin: Pick<KafkaAdmin, 'topicExists' | 'topicBounds'>) {
    this.#admin = admin;
  }

  /** Rejects with KAFKA_TOPIC_UNKNOWN where nothing can be replayed to. */
  async placed(letter: Letter, replay: Replay): Promise<Replay> {
    const partitions = await this.#partitionsOf(replay.topic);
    const { partition, ...elsewhere } = replay.message;
    if (partition !== undefined && partitions.has(partition)) return replay;
    if (elsewhere.key !== null) return { ...replay, message: elsewhere };
    const chosen = [...partitions][Number(letter.position.offset % BigInt(partitions.size))] ?? 0;
    return { ...replay, message: { ...elsewhere, partition: chosen } };
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
