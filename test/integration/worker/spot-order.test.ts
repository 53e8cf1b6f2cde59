/** Notices among other reasons to stop: before the start, with signals around them, warnings that may be ignored. */
import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { azureEvent, startAws, startAzure } from '../../support/metadata/clouds.ts';
import { logged, untilAtEngine, untilPersisted, useEvictionWorld } from './eviction-world.ts';
import { expectExactlyStored, groupMembers } from './evidence.ts';
import { eventually, startEngine } from './harness.ts';

const { workerAt, fill, hook, byFile, byCloud, topic, store, expectPassedOn } = useEvictionWorld('spot-order-test');

/** Not slow with the text that a worker tries it with when it starts. */
const slowEngine = () => startEngine(['--synthetic', '--fault', 'SLOW=late', '--late-ms', '30000']);
const budgets = (log: readonly Readonly<Record<string, unknown>>[]) =>
  log.filter(({ msg }) => msg === 'drained').map(({ tookMs }) => Number(tookMs));

describe('a notice and a signal', () => {
  it('SIGTERM after a notice shortens the budget to its own timeout', async () => {
    const chunks = await fill('SLOW-after', 300);
    const engine = await slowEngine();
    const worker = await workerAt(engine.target, { ...byFile(), RAG_SERVING_DRAIN_TIMEOUT_MS: '2000' });
    await untilAtEngine(worker);
    writeFileSync(hook(), '{"left_ms":120000}');
    const stopping = await worker.program.line(({ msg }) => msg === 'stopping');
    expect(stopping).toMatchObject({ eviction: true });
    expect(stopping.budgetMs).toBeGreaterThan(100_000);
    expect(stopping).not.toHaveProperty('signal');
    expect(await worker.stop('SIGTERM', 15_000)).toEqual({ code: 3, signal: null });
    rmSync(hook());
    await engine.program.kill();
    await expectPassedOn(chunks);
  });

  it('SIGTERM after a notice never gives it more time', async () => {
    await fill('SLOW-never', 300);
    const engine = await slowEngine();
    const worker = await workerAt(engine.target, byFile());
    await untilAtEngine(worker);
    writeFileSync(hook(), '{"left_ms":5000}');
    await worker.program.line(({ msg }) => msg === 'stopping');
    expect(await worker.stop('SIGTERM', 20_000)).toEqual({ code: 3, signal: null });
    // The timeout of the signal would be 25 s.
    expect(budgets(worker.log)[0]).toBeLessThan(8_000);
    expect(await groupMembers(topic())).toBe(0);
  });

  it('a notice after SIGTERM shortens what the signal left', async () => {
    await fill('SLOW-before', 300);
    const engine = await slowEngine();
    const worker = await workerAt(engine.target, byFile());
    await untilAtEngine(worker);
    worker.program.signal('SIGTERM');
    await worker.program.line(({ msg }) => msg === 'stopping');
    writeFileSync(hook(), '{"left_ms":4000}');
    expect(await worker.stop('SIGCONT', 20_000)).toEqual({ code: 3, signal: null });
    expect(budgets(worker.log)[0]).toBeLessThan(8_000);
    expect(await groupMembers(topic())).toBe(0);
  });
});

describe('a notice that is there before the worker', () => {
  it('the worker does not join the group: exit 0', async () => {
    await fill('doomed', 100);
    const engine = await startEngine();
    writeFileSync(hook(), '');
    const worker = await workerAt(engine.target, byFile());
    expect(await worker.program.exited).toEqual({ code: 0, signal: null });
    expect(worker.log.filter(({ msg }) => msg === 'partitions assigned')).toEqual([]);
    expect(worker.log.filter(({ level }) => level === 'ERROR')).toEqual([]);
  });
});

describe('an early warning', () => {
  const recommended = JSON.stringify({ noticeTime: '2020-10-27T08:22:00Z' });

  it('is counted and logged, and the work goes on', async () => {
    const chunks = await fill('ignored', 200);
    const engine = await startEngine();
    const aws = await startAws();
    aws.rebalance = recommended;
    const worker = await workerAt(engine.target, byCloud('aws', aws.server));
    await topic().untilLagZero();
    expect((await worker.ready()).status).toBe(200);
    expect(await worker.metric('rag_serving_spot_notices_total', 'kind="rebalance"')).toBe(1);
    expect(logged(worker, 'this machine may be taken away; ignored')).toMatchObject({
      setting: 'RAG_SERVING_SPOT_EARLY_WARNING',
    });
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(store(), chunks);
  });

  it('drains where that is wanted, with the time that a signal would leave', async () => {
    await fill('heeded', 200);
    const engine = await startEngine();
    const aws = await startAws();
    const worker = await workerAt(engine.target, {
      ...byCloud('aws', aws.server),
      RAG_SERVING_SPOT_EARLY_WARNING: 'drain',
    });
    await untilPersisted(worker, 200);
    aws.rebalance = recommended;
    expect(await worker.program.exited).toEqual({ code: 0, signal: null });
    expect(logged(worker, 'stopping')).toMatchObject({ eviction: true, budgetMs: 25_000 });
  });
});

describe('Azure', () => {
  it('is told after the drain that the machine may go, where that is wanted', async () => {
    const chunks = await fill('told', 100);
    const engine = await startEngine();
    const azure = await startAzure();
    const cloud = byCloud('azure', azure.server);
    const silent = await workerAt(engine.target, cloud);
    await untilPersisted(silent, 100);
    azure.events = [azureEvent({ EventId: 'first' })];
    expect(await silent.program.exited).toEqual({ code: 0, signal: null });
    expect(azure.started).toEqual([]);

    azure.events = [];
    const worker = await workerAt(engine.target, { ...cloud, RAG_SERVING_SPOT_ACKNOWLEDGE: 'true' });
    await eventually('ready', async () => (await worker.ready()).status === 200);
    azure.events = [azureEvent({ EventId: 'second' })];
    expect(await worker.program.exited).toEqual({ code: 0, signal: null });
    expect(azure.started).toEqual(['second']);
    expect(await groupMembers(topic())).toBe(0);
    await expectExactlyStored(store(), chunks);
  });
});

describe('a metadata server that is away', () => {
  it('costs nothing but two lines in the log', async () => {
    const chunks = await fill('alone', 200);
    const engine = await startEngine();
    const worker = await workerAt(engine.target, {
      RAG_SERVING_SPOT_PROVIDER: 'aws',
      RAG_SERVING_SPOT_URL: 'http://127.0.0.1:1',
    });
    await topic().untilLagZero();
    expect((await worker.ready()).status).toBe(200);
    expect(worker.log.filter(({ msg }) => /spot notices cannot be read/.test(String(msg)))).toHaveLength(2);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(store(), chunks);
  });
});
