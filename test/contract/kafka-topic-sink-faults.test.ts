/** What the sink on a Kafka topic does when a real broker is killed, frozen, refuses its user, or does not take a record. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { Secret } from '../../src/config/secret.ts';
import type { KafkaConnectionConfig } from '../../src/config/sections/kafka.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { allow, type Right } from '../support/kafka-rights.ts';
import { useKafka } from '../support/stack.ts';
import { batch, expectWritesSurviveKill, OUTAGE } from './sink-outage.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const source = { groupId: 'faults', topic: 'rag.ingestion.chunks' };

function plain(bootstrapServers: string): KafkaConnectionConfig {
  return { bootstrapServers: bootstrapServers.split(','), sasl: undefined, tls: undefined };
}

async function makeTopic(
  bootstrapServers: string,
  topic: string,
  configEntries: Readonly<Record<string, string>> = {},
) {
  const client = createKafkaClient({ ...plain(bootstrapServers), clientId: 'test', log: silentLog });
  const admin = new KafkaAdmin(client);
  await admin.ensureTopic(topic, { partitions: 2, configEntries });
  await admin.close();
  return client;
}

async function sinkAt(connection: KafkaConnectionConfig, topic: string): Promise<Sink> {
  const sink = await createSink(
    { name: 'kafka-topic', options: { connection, topic, source } },
    silentLog,
    systemClock,
  );
  onTestFinished(() => sink.close());
  return sink;
}

describe('a broker that goes and comes back', () => {
  const kafka = useKafka();

  async function opened(topic: string, configEntries?: Readonly<Record<string, string>>): Promise<Sink> {
    await makeTopic(kafka().bootstrapServers, topic, configEntries);
    const sink = await sinkAt(plain(kafka().bootstrapServers), topic);
    await sink.open(contractOf());
    return sink;
  }

  it('killed while writing: writes reject as outage, go on by themselves afterwards, and lose no acknowledged row', async () => {
    await expectWritesSurviveKill(await opened('killed'), kafka());
  });

  it('a caller that gives up is answered at once while the broker is frozen, and later writes are stored', async () => {
    const sink = await opened('frozen');
    await sink.write(batch(0));
    await kafka().kill('SIGSTOP');
    try {
      const startedAt = performance.now();
      await expect(sink.write(batch(50), AbortSignal.timeout(100))).rejects.toMatchObject(OUTAGE);
      expect(performance.now() - startedAt).toBeLessThan(1_500);
    } finally {
      await kafka().kill('SIGCONT');
    }
    await sink.write(batch(50));
    expect(await sink.count()).toBe(100);
  });

  it('a record that the topic does not take is refused alone, with sizes and remedy, and its neighbours are stored', async () => {
    const sink = await opened('small', { 'max.message.bytes': '4096' });
    const outcomes = await sink.write([rowOf('a'), rowOf('big', { text: 'x'.repeat(8_000) }), rowOf('b')]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'refused', 'stored']);
    expect(outcomes[1]).toMatchObject({
      error: { code: 'SINK_ROW_REFUSED', message: expect.stringMatching(/about \d+ bytes.*takes 4096: raise max/) },
    });
    expect(await sink.count()).toBe(2);
  });

  it('a topic that is not there is told by name at the start, and not made', async () => {
    const sink = await sinkAt(plain(kafka().bootstrapServers), 'missing');
    await expect(sink.open(contractOf())).rejects.toMatchObject({
      failureClass: 'fatal',
      message: expect.stringContaining('missing'),
    });
    expect(await (await sinkAt(plain(kafka().bootstrapServers), 'missing')).inspect()).toBeUndefined();
  });
});

describe('a broker that asks for a user and rights', () => {
  const user = { username: 'writer', password: 'pw-SENTINEL' };
  const kafka = useKafka({
    sasl: user,
    settings: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // The plain listener, which only the test uses.
      'super.users': 'User:ANONYMOUS',
    },
  });
  const secured = (password = user.password): KafkaConnectionConfig => ({
    bootstrapServers: kafka().securedServers.split(','),
    sasl: { mechanism: 'SCRAM-SHA-512', username: user.username, password: new Secret(password) },
    tls: undefined,
  });

  async function failureOf(password?: string): Promise<unknown> {
    const sink = await sinkAt(secured(password), 'secured');
    return sink.open(contractOf()).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it('each right that is missing is one error with all that it needs, and with them rows are written', async () => {
    const client = await makeTopic(kafka().bootstrapServers, 'secured');
    const give = (...rights: readonly Right[]) => allow(client, user.username, 'PREFIXED', rights);
    const wrong = await failureOf('pw-SENTINEL-wrong');
    expect(wrong).toMatchObject({ code: 'SINK_ACCESS_DENIED' });
    expect(await failureOf()).toMatchObject({ failureClass: 'fatal' });

    await give({ on: 'TOPIC', name: 'secured', to: 'READ' }, { on: 'GROUP', name: source.groupId, to: 'READ' });
    const noId = await failureOf();
    expect(noId).toMatchObject({
      code: 'SINK_ACCESS_DENIED',
      message: expect.stringContaining('transactional ids that begin with rag-serving.'),
    });
    expect(`${wrong} ${noId}`).not.toContain('SENTINEL');

    await give({ on: 'TOPIC', name: 'secured', to: 'DESCRIBE_CONFIGS' });
    expect(await failureOf()).toMatchObject({ code: 'SINK_ACCESS_DENIED' });
    await give({ on: 'TRANSACTIONAL_ID', name: 'rag-serving.', to: 'WRITE' });
    await give({ on: 'TOPIC', name: 'secured', to: 'WRITE' });
    const sink = await sinkAt(secured(), 'secured');
    await sink.open(contractOf());
    await sink.write(batch(0));
    expect(await sink.count()).toBe(50);
  });
});
