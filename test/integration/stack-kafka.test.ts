/** The local Kafka: what its users rely on. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../scripts/stack/free-port.ts';
import { type RunningKafka, startKafka } from '../../scripts/stack/kafka.ts';
import { startProxy } from '../../scripts/stack/proxy.ts';
import { useKafka } from '../support/stack.ts';
import { tracesOf } from '../support/stack-traces.ts';

const RETRIES = { retries: 8, initialRetryTime: 50 };

function client(brokers: string, more: Partial<KafkaConfig> = {}): Kafka {
  return new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING, retry: RETRIES, ...more });
}

async function createTopic(kafka: Kafka, topic: string): Promise<number> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic }] });
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  await admin.disconnect();
  return topics[0]!.partitions.length;
}

async function produce(kafka: Kafka, topic: string, value: Buffer | string): Promise<void> {
  const producer = kafka.producer({ createPartitioner: () => () => 0 });
  await producer.connect();
  await producer.send({ topic, messages: [{ value }] }).finally(() => producer.disconnect());
}

/** Values of the first `count` messages that a group reads. */
async function consume(kafka: Kafka, topic: string, groupId: string, count: number): Promise<string[]> {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const values: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const run = consumer.run({
      eachMessage: async ({ message }) => {
        values.push(String(message.value));
        if (values.length >= count) resolve();
      },
    });
    run.catch(reject);
  });
  await consumer.disconnect();
  return values;
}

describe('a broker', () => {
  const kafka = useKafka({ partitions: 3, maxMessageBytes: 4_194_304 });

  test('serves its first group without a coordinator error', async () => {
    const troubles: string[] = [];
    const loud = client(kafka().bootstrapServers, {
      logLevel: logLevel.ERROR,
      logCreator: () => (entry) => void troubles.push(String(entry.log.error ?? entry.log.message)),
    });
    expect(await createTopic(loud, 'first')).toBe(3);
    await produce(loud, 'first', 'one');
    expect(await consume(loud, 'first', 'first-group', 1)).toEqual(['one']);
    expect(troubles).toEqual([]);
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'keeps messages and committed offsets over %s and restart',
    async (signal) => {
      const topic = `kept-${signal}`;
      const plain = client(kafka().bootstrapServers);
      await createTopic(plain, topic);
      await produce(plain, topic, 'before');
      expect(await consume(plain, topic, `group-${signal}`, 1)).toEqual(['before']);
      await kafka().kill(signal);
      await expect(
        client(kafka().bootstrapServers, { retry: { retries: 0 } })
          .admin()
          .connect(),
      ).rejects.toThrow();
      await kafka().restart();
      await produce(plain, topic, 'after');
      expect(await consume(plain, topic, `group-${signal}`, 1)).toEqual(['after']);
      expect(await consume(plain, topic, `other-${signal}`, 2)).toEqual(['before', 'after']);
    },
  );

  test('takes a message as large as it was told to', async () => {
    const plain = client(kafka().bootstrapServers);
    await createTopic(plain, 'large');
    await produce(plain, 'large', Buffer.alloc(4_000_000, 'x'));
    await expect(produce(plain, 'large', Buffer.alloc(4_300_000, 'x'))).rejects.toThrow(
      /larger than the max message size/,
    );
  });
});

describe('a secured listener', () => {
  let folder: string;
  let kafka: RunningKafka;
  const sasl = { username: 'worker', password: 'pass-1' };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rag-stack-test-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
    const names = ['-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync('openssl', [...request, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const tls = { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') };
    kafka = await startKafka({ sasl, tls });
  });
  afterAll(async () => {
    await kafka?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const connect = async (mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512', password: string) => {
    const ssl = { ca: [readFileSync(join(folder, 'cert.pem'), 'utf8')] };
    const secured = { ssl, sasl: { mechanism, username: sasl.username, password }, retry: { retries: 0 } };
    const admin = client(kafka.securedServers, secured as Partial<KafkaConfig>).admin();
    await admin.connect();
    await admin.disconnect();
  };

  test.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
    'lets in by TLS and SASL %s, not with a wrong password',
    async (mechanism) => {
      await connect(mechanism, sasl.password);
      await expect(connect(mechanism, 'wrong')).rejects.toThrow(/[Aa]uthentication/);
    },
  );

  test('does not talk to a client without TLS', async () => {
    await expect(
      client(kafka.securedServers, { retry: { retries: 0 }, connectionTimeout: 2_000 })
        .admin()
        .connect(),
    ).rejects.toThrow();
  });
});

test('a client behind a proxy stays behind it: the broker names the proxy as its address', async () => {
  const proxyPort = await freePort();
  const kafka = await startKafka({ advertisedPort: proxyPort });
  const traces = { pid: kafka.pid, dataDir: kafka.dataDir };
  const proxy = await startProxy({ target: { port: kafka.proxiedPort }, port: proxyPort });
  try {
    const through = client(proxy.address);
    await createTopic(through, 'proxied');
    await produce(through, 'proxied', 'one');
    await proxy.cut();
    await expect(produce(client(proxy.address, { retry: { retries: 0 } }), 'proxied', 'lost')).rejects.toThrow();
    await proxy.restore();
    await produce(through, 'proxied', 'two');
    expect(await consume(through, 'proxied', 'proxied-group', 2)).toEqual(['one', 'two']);
  } finally {
    await proxy.close();
    await kafka.stop();
  }
  expect(tracesOf(traces)).toEqual([]);
});

test('a password that would need quoting is refused before anything starts', async () => {
  await expect(startKafka({ sasl: { username: 'u', password: 'with "quotes"' } })).rejects.toThrow(/may hold only/);
});
