/** `rag-serving doctor` on real servers: all well, and each thing that may be wrong said with what to do. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { RegistryClient } from '../../../src/schemas/registry-client.ts';
import { createSink, type SinkChoice } from '../../../src/sinks/registry.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { CallProxy } from '../../support/call-proxy.ts';
import { useKafka, useRedis, useSchemaRegistry } from '../../support/stack.ts';
import { endPrograms, eventually, startEngine, startWorker } from '../worker/harness.ts';
import { DoctorWorld } from './doctor-world.ts';

const kafka = useKafka();
const redis = useRedis();
let world: DoctorWorld;

beforeEach(() => {
  world = new DoctorWorld(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await world.close();
});

const AWAY = '127.0.0.1:1';
const left = () => readdirSync('/dev/shm').filter((name) => name.startsWith('rag-doctor-'));

describe('rag-serving doctor', () => {
  it('all is well: nothing fails, and nothing is made', async () => {
    await world.topic.create(2);
    const engine = await startEngine();
    const settings = world.settings(engine.target, { RAG_SERVING_RETRY_REDIS_URL: redis().url });
    const { code, output, of } = await world.diagnose([], settings);
    expect(code, output).toBe(0);
    expect(output).not.toContain('"outcome":"fail"');
    for (const name of [
      'settings',
      'brokers',
      'topic',
      'group',
      'dead letters',
      'engine',
      'model',
      'room',
      'visible',
    ]) {
      expect(of(name), output).toMatchObject({ outcome: 'ok', remedy: null });
    }
    expect(of('topic').found).toContain('2 partitions');
    expect(of('store').found).toContain('no collection yet');
    expect(of('collection')).toMatchObject({ outcome: 'skipped' });
    expect(of('clock')).toMatchObject({ outcome: 'ok' });
    expect(await world.topic.admin.topicExists(world.dlq)).toBe(false);
    expect(existsSync(world.table)).toBe(false);
    expect(left()).toEqual([]);
    const { groups } = await world.topic.admin.ask('list groups', (admin) => admin.listGroups());
    expect(groups.filter(({ groupId }) => groupId.includes(world.topic.group))).toEqual([]);

    const text = await world.run(['doctor'], settings);
    expect(text.code).toBe(0);
    expect(text.output).toMatch(/^ok +topic +rag\.test\.\w+ has 2 partitions, and may be read$/m);
    expect(text.output).toMatch(/^\d+ ok, \d+ warnings?, 0 failed, \d skipped$/m);
    expect(text.output).not.toContain('\u001b');
  });

  it('beside a running worker, a collection of another model and more members than partitions', async () => {
    await world.topic.create(1);
    const engine = await startEngine();
    const env = { ...world.env, ...world.settings(engine.target) };
    await Promise.all([startWorker(env), startWorker(env)]);
    await eventually(
      'the collection is made and both workers are members',
      async () => (await world.diagnose(['--only', 'kafka,store'], env)).output.includes('Stable, 2 members'),
      60_000,
    );
    const busy = await world.diagnose(['--only', 'kafka,store,shared-memory'], env);
    expect(busy.code, busy.output).toBe(0);
    expect(busy.of('group')).toMatchObject({ outcome: 'warn', remedy: expect.stringContaining('fewer workers') });
    expect(busy.of('collection')).toMatchObject({ outcome: 'ok' });
    expect(busy.of('visible')).toMatchObject({ outcome: 'ok' });

    const renamed = { ...env, RAG_SERVING_MODEL_NAME: 'online_embedder_ensemble' };
    const smaller = await world.diagnose(['--only', 'engine'], renamed);
    expect(smaller.of('model')).toMatchObject({ outcome: 'warn', remedy: expect.stringContaining('MAX_BATCH_SIZE') });

    const other = await startEngine(['--synthetic', '--dims', '8']);
    const { code, of, output } = await world.diagnose(['--only', 'store'], { ...env, ...world.settings(other.target) });
    expect(code, output).toBe(1);
    expect(of('collection')).toMatchObject({ outcome: 'fail', found: expect.stringContaining('SINK_SCHEMA_MISMATCH') });
  });

  it('a collection that another model filled: its fingerprint and ours, and what to do', async () => {
    const engine = await startEngine();
    const choice: SinkChoice = { name: 'lancedb', options: { uri: world.table, table: 'chunks' } };
    const sink = await createSink(choice, silentLog, systemClock);
    await sink.open({ modelName: 'm', fingerprint: 'another', dims: 384, dtype: 'FP16', maxBatch: 8 });
    await sink.close();
    const settings = world.settings(engine.target, { RAG_SERVING_LANCEDB_TABLE: 'chunks' });
    const strict = await world.diagnose(['--only', 'store'], settings);
    expect(strict.code, strict.output).toBe(1);
    expect(strict.of('store')).toMatchObject({ outcome: 'ok' });
    expect(strict.of('collection').found).toMatch(/SINK_SCHEMA_MISMATCH: .*fingerprint another.*synthetic-sha256/);
    const mixed = { ...settings, RAG_SERVING_SINK_ALLOW_MIXED_FINGERPRINTS: 'true' };
    expect((await world.diagnose(['--only', 'store'], mixed)).of('collection')).toMatchObject({ outcome: 'warn' });
  });

  it('everything away: each is named, what needs it is skipped, and no secret is shown', async () => {
    const { code, output, of } = await world.diagnose(['--timeout', '8'], {
      ...world.settings(AWAY),
      KAFKA_BOOTSTRAP_SERVERS: AWAY,
      RAG_SERVING_RETRY_REDIS_URL: `redis://user:pw-SENTINEL@${AWAY}`,
      RAG_SERVING_MAX_BATCHSIZE: '3',
      KAFKA_VALUE_FORMAT: 'avro',
      KAFKA_SCHEMA_REGISTRY_URL: `http://${AWAY}`,
      KAFKA_SCHEMA_REGISTRY_USERNAME: 'user',
      KAFKA_SCHEMA_REGISTRY_PASSWORD: 'pw-SENTINEL',
    });
    expect(code, output).toBe(1);
    expect(of('settings')).toMatchObject({
      outcome: 'warn',
      found: expect.stringContaining('RAG_SERVING_MAX_BATCH_SIZE'),
    });
    expect(of('brokers')).toMatchObject({ outcome: 'fail', found: expect.stringContaining(AWAY) });
    expect(of('topic')).toMatchObject({ outcome: 'skipped', found: 'brokers failed' });
    expect(of('group')).toMatchObject({ outcome: 'skipped', found: 'topic was not checked' });
    expect(of('engine')).toMatchObject({ outcome: 'fail', found: expect.stringContaining('INFERENCE_UNAVAILABLE') });
    expect(of('visible')).toMatchObject({ outcome: 'skipped' });
    expect(of('schemas')).toMatchObject({
      outcome: 'fail',
      found: expect.stringContaining('SCHEMA_REGISTRY_UNAVAILABLE'),
    });
    expect(of('retries')).toMatchObject({ outcome: 'fail', found: expect.stringContaining('RETRY_QUEUE_UNAVAILABLE') });
    expect(output).not.toContain('SENTINEL');
  });

  it('a port that takes connections and never answers ends at its limit; a bootstrap address beside it is told apart', async () => {
    await world.topic.create(1);
    const silent = createServer((socket) => socket.unref());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = silent.address() as { readonly port: number };
      const hole = `127.0.0.1:${port}`;
      const { code, output, of } = await world.diagnose(['--timeout', '6'], {
        ...world.settings(hole),
        KAFKA_BOOTSTRAP_SERVERS: `${kafka().bootstrapServers},${hole}`,
        RAG_SERVING_RETRY_REDIS_URL: `redis://${hole}`,
      });
      expect(code, output).toBe(1);
      expect(of('brokers')).toMatchObject({
        outcome: 'warn',
        found: expect.stringContaining(`${hole}: KAFKA_UNAVAILABLE`),
      });
      expect(of('topic')).toMatchObject({ outcome: 'ok' });
      expect(of('engine')).toMatchObject({ outcome: 'fail' });
      expect(of('retries')).toMatchObject({ outcome: 'fail' });
    } finally {
      silent.close();
    }
  });

  it('Ctrl-C while the model server has a region of ours: it is taken back', async () => {
    await world.topic.create(1);
    const engine = await startEngine();
    const proxy = await CallProxy.start(engine.target);
    try {
      const settings = world.settings(proxy.address);
      const program = world.start(['doctor', '--only', 'shared-memory', '--timeout', '60'], settings);
      let there: readonly string[] = [];
      proxy.onCall = (headers) => {
        if (!String(headers[':path']).endsWith('/SystemSharedMemoryRegister')) return;
        there = left();
        proxy.wedge();
        program.signal('SIGINT');
      };
      const { code } = await program.exited;
      expect(code, program.output).toBe(3);
      expect(program.output).toContain('interrupted');
      expect(there).toHaveLength(2);
      expect(left()).toEqual([]);
    } finally {
      proxy.close();
    }
  });

  it('a missing topic, too little /dev/shm, an engine without shared memory, wrong settings', async () => {
    const engine = await startEngine(['--synthetic', '--allow-client-shm', 'false']);
    const settings = world.settings(engine.target);
    const first = await world.diagnose(['--skip', 'store'], settings);
    expect(first.code, first.output).toBe(1);
    expect(first.of('topic')).toMatchObject({ outcome: 'fail', found: expect.stringContaining('KAFKA_TOPIC_UNKNOWN') });
    expect(first.of('visible')).toMatchObject({
      outcome: 'warn',
      remedy: expect.stringContaining('--allow-client-shm'),
    });
    expect(first.of('store')).toMatchObject({ outcome: 'skipped', found: 'left out by --skip' });
    expect(await world.topic.admin.topicExists(world.topic.topic)).toBe(false);

    const large = await world.diagnose(['--only', 'shared-memory'], {
      ...settings,
      RAG_SERVING_SHM_SLOTS: '256',
      RAG_SERVING_SHM_SLOT_INPUT_BYTES: '268435456',
    });
    expect(large.code).toBe(1);
    expect(large.of('room')).toMatchObject({
      outcome: 'fail',
      remedy: expect.stringContaining('RAG_SERVING_SHM_SLOTS'),
    });
    const required = await world.diagnose(['--only', 'shared-memory'], {
      ...settings,
      RAG_SERVING_SHM_MODE: 'required',
    });
    expect(required.of('visible')).toMatchObject({ outcome: 'fail' });

    const wrong = await world.diagnose([], { ...settings, RAG_SERVING_SHM_SLOTS: '0', RAG_SERVING_SINK: 'oracle' });
    expect(wrong.code).toBe(2);
    expect(wrong.of('settings').found).toMatch(
      /2 settings are wrong[\s\S]*RAG_SERVING_SHM_SLOTS[\s\S]*RAG_SERVING_SINK/,
    );
    const usage = await world.run(['doctor', '--only', 'kafkka'], settings);
    expect(usage.code).toBe(2);
    expect(usage.output).toContain('Groups are settings, machine, kafka');
    expect(left()).toEqual([]);
  });
});

describe('a Redis of retries that may evict', () => {
  const evicting = useRedis({ args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'] });

  it('fails, with the policy and what to set', async () => {
    const settings = world.settings(AWAY, { RAG_SERVING_RETRY_REDIS_URL: evicting().url });
    const { code, of, output } = await world.diagnose(['--only', 'retries'], settings);
    expect(code, output).toBe(1);
    expect(of('retries')).toMatchObject({
      outcome: 'fail',
      found: expect.stringContaining('allkeys-lru'),
      remedy: expect.stringContaining('noeviction'),
    });
  });
});

describe('a schema registry', () => {
  const registry = useSchemaRegistry();

  it('without the subject fails; with a schema of chunks it is well', async () => {
    const subject = `${world.topic.topic}-value`;
    const settings = world.settings(AWAY, { KAFKA_VALUE_FORMAT: 'avro', KAFKA_SCHEMA_REGISTRY_URL: registry().url });
    const missing = await world.diagnose(['--only', 'kafka'], settings);
    expect(missing.of('schemas').found).toContain(`SCHEMA_MISMATCH: subject ${subject} does not exist`);

    const tls = { ca: undefined, cert: undefined, key: undefined };
    const client = new RegistryClient({ urls: [registry().url], authorization: undefined, tls, timeoutMs: 10_000 });
    const text = readFileSync('examples/schemas/chunk.avsc', 'utf8');
    await client.register(subject, { format: 'avro', text, references: [] });
    client.close();
    const well = await world.diagnose(['--only', 'kafka'], settings);
    expect(well.of('schemas'), well.output).toMatchObject({
      outcome: 'ok',
      found: expect.stringContaining('version 1'),
    });
  });
});
