/** The topic of chunks and that of dead letters: there, and this user may do with them what a worker does. */
import { asServingError } from '../../../src/errors.ts';
import { proveTopicRead, proveTopicWrite } from '../../../src/kafka/rights.ts';
import { fail, type Outcome, ok, warn } from '../check.ts';
import type { Parts } from '../parts.ts';
import { failureOf } from '../remedies.ts';

export async function lookAtTopic({ config, admin, client, found }: Parts): Promise<Outcome> {
  const { topic } = config.kafka;
  try {
    const bounds = await admin.topicBounds(topic);
    found.partitions = bounds.size;
    for (const [partition, { end }] of [...bounds].slice(0, 1)) await proveTopicRead(client, topic, partition, end);
    return ok(`${topic} has ${bounds.size} ${bounds.size === 1 ? 'partition' : 'partitions'}, and may be read`);
  } catch (thrown) {
    const error = asServingError(thrown);
    if (error.code !== 'KAFKA_UNAVAILABLE') return failureOf(error);
    const remedy = 'a bootstrap address answers: see that advertised.listeners of the brokers can be reached from here';
    return fail(`${error.code}: ${error.message}`, remedy);
  }
}

/** `named`: the broker knows who we are, so rights may be missing. */
export function absentLettersVerdict(topic: string, named: boolean): Outcome {
  const found = `${topic} is not there yet, or may not be seen: the first dead letter makes it`;
  if (!named) return ok(found);
  return warn(found, 'create it, and give this user DESCRIBE and WRITE; or give it CREATE, so that a worker can');
}

export async function lookAtDeadLetters({ config, admin, client }: Parts): Promise<Outcome> {
  const topic = config.pipeline.deadLetterTopic;
  const { sasl, tls } = config.kafka;
  if (!(await admin.topicExists(topic))) {
    return absentLettersVerdict(topic, sasl !== undefined || tls?.certPath !== undefined);
  }
  await proveTopicWrite(client, topic);
  return ok(`${topic} may be written to`);
}
