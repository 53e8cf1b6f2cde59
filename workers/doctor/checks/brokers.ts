/** Each bootstrap address by itself: kafkajs goes from one to the next, so that a dead one would only show when the others die. */
import { boundedWait } from '../../../src/bounded-wait.ts';
import { asServingError, ServingError } from '../../../src/errors.ts';
import { KafkaAdmin } from '../../../src/kafka/admin.ts';
import { createKafkaClient } from '../../../src/kafka/client.ts';
import { fail, type Outcome, ok, warn } from '../check.ts';
import { type Parts, SERVICE } from '../parts.ts';
import { remedyOf } from '../remedies.ts';

export type BrokerAnswer = { readonly server: string; readonly error: ServingError | undefined };

export function brokersVerdict(answers: readonly BrokerAnswer[]): Outcome {
  const away = answers.flatMap(({ server, error }) => (error === undefined ? [] : [{ server, error }]));
  const answered = answers.filter(({ error }) => error === undefined).map(({ server }) => server);
  const [first] = away;
  if (first === undefined) return ok(`${answered.join(', ')} ${answered.length === 1 ? 'answers' : 'answer'}`);
  const lines = away.map(({ server, error }) => `${server}: ${error.code}: ${error.message}`);
  const remedy = remedyOf(first.error);
  if (answered.length === 0) return fail(lines.join('\n'), remedy);
  return warn([...lines, `${answered.join(', ')} answers`].join('\n'), remedy);
}

export async function lookAtBrokers({ config, callTimeoutMs, log }: Parts, signal: AbortSignal): Promise<Outcome> {
  const { kafka } = config;
  const ask = async (server: string): Promise<BrokerAnswer> => {
    const client = createKafkaClient({ ...kafka, bootstrapServers: [server], clientId: SERVICE, log });
    const admin = new KafkaAdmin(client);
    const doing = 'ask the broker who it is';
    try {
      const asked = admin.ask(doing, (one) => one.describeCluster());
      await boundedWait(asked, { maxWaitMs: callTimeoutMs, signal }, () => silent(doing, callTimeoutMs));
      return { server, error: undefined };
    } catch (thrown) {
      // kafkajs often keeps the reason to its log while it goes on trying.
      return { server, error: withTrouble(asServingError(thrown), client.troubles.latest(callTimeoutMs)) };
    } finally {
      void admin.close();
    }
  };
  return brokersVerdict(await Promise.all(kafka.bootstrapServers.map(ask)));
}

function silent(doing: string, waitedMs: number): ServingError {
  return new ServingError('KAFKA_UNAVAILABLE', `cannot ${doing}: no answer in ${waitedMs} ms`);
}

function withTrouble(error: ServingError, trouble: string | undefined): ServingError {
  return trouble === undefined ? error : new ServingError(error.code, `${error.message} (${trouble})`);
}
