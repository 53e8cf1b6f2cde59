/** The machine is taken away: notices of each cloud through the real worker, with time enough and with too little. */
import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { azureEvent, startAws, startAzure, startGcp } from '../../support/metadata/clouds.ts';
import { logged, untilAtEngine, untilPersisted, useEvictionWorld, watchOps } from './eviction-world.ts';
import { embeddedTexts } from './evidence.ts';
import { startEngine } from './harness.ts';

const { workerAt, fill, hook, byFile, byCloud, storedCount, expectPassedOn } = useEvictionWorld('spot-test');

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
const clouds = {
  aws: async () => {
    const aws = await startAws();
    const tell = () => (aws.instanceAction = JSON.stringify({ action: 'terminate', time: inSeconds(120) }));
    return { server: aws.server, tell };
  },
  gcp: async () => {
    const gcp = await startGcp();
    return { server: gcp.server, tell: () => gcp.set('preempted', 'TRUE') };
  },
  azure: async () => {
    const azure = await startAzure();
    return { server: azure.server, tell: () => (azure.events = [azureEvent()]) };
  },
};

describe('a notice in mid-stream', () => {
  it.for([
    ['aws', 100_000, 118_000],
    ['gcp', 10_000, 13_000],
    ['azure', 20_000, 29_000],
  ] as const)(
    '%s: not ready at once, everything else answers, drained, group left, nothing lost (L08)',
    async ([provider, leastMs, mostMs]) => {
      const chunks = await fill(provider, 3_000);
      const engine = await startEngine(['--synthetic', '--batch-ms', '200']);
      const { server, tell } = await clouds[provider]();
      const worker = await workerAt(engine.target, byCloud(provider, server));
      await untilPersisted(worker, 300);
      expect((await worker.ready()).status).toBe(200);
      tell();
      const stopping = await worker.program.line(({ msg }) => msg === 'stopping');
      const ops = await watchOps(worker);
      expect(await worker.program.exited).toEqual({ code: 0, signal: null });

      expect(stopping).toMatchObject({ eviction: true });
      expect(stopping.budgetMs).toBeGreaterThan(leastMs);
      expect(stopping.budgetMs).toBeLessThanOrEqual(mostMs);
      expect(stopping.batchMs).toBeGreaterThan(150);
      expect(stopping.storeMs).toBeGreaterThan(0);
      expect(stopping.commitMs).toBeGreaterThan(0);
      expect(ops.ready.length).toBeGreaterThan(1);
      expect(new Set(ops.ready)).toEqual(new Set([503]));
      expect(new Set(ops.healthz)).toEqual(new Set([200]));
      expect(ops.phases[0]).toBe('draining');
      expect(ops.metrics).toMatch(new RegExp(`^rag_serving_spot_notices_total{.*provider="${provider}".*} 1$`, 'm'));
      expect(ops.metrics).toMatch(/^rag_serving_drain_duration_seconds\{.*\} 0?\.?\d/m);
      expect(logged(worker, 'drained')).toMatchObject({ abandoned: 0 });
      await engine.program.kill();
      await expectPassedOn(chunks);
    },
  );
});

describe('a notice that leaves too little', () => {
  it('for the batches in flight: abandoned, exit 3, and a second worker finishes', async () => {
    const chunks = await fill('SLOW', 600);
    const engine = await startEngine(['--synthetic', '--fault', 'SLOW=late', '--late-ms', '10000']);
    const worker = await workerAt(engine.target, byFile());
    await untilAtEngine(worker);
    writeFileSync(hook(), '{"left_ms":4000}');
    const noticed = await worker.program.line(({ msg }) => msg === 'this machine will be taken away');
    expect(noticed).toMatchObject({ provider: 'file', kind: 'interruption', leftMs: 4_000 });
    expect(await worker.stop('SIGCONT', 10_000)).toEqual({ code: 3, signal: null });
    const stopping = logged(worker, 'stopping');
    expect(stopping).toMatchObject({ eviction: true });
    expect(stopping?.budgetMs).toBeLessThanOrEqual(2_000);
    expect(stopping).not.toHaveProperty('batchMs');
    expect(logged(worker, 'drained')?.abandoned).toBeGreaterThan(0);
    expect(await storedCount(chunks)).toBe(0);
    rmSync(hook());
    await engine.program.kill();
    await expectPassedOn(chunks);
  });

  it('for another batch: what runs is stored, none is begun for nothing, and the group is left early', async () => {
    const chunks = await fill('rest', 1_000, 1);
    const engine = await startEngine(['--synthetic', '--batch-ms', '2000']);
    // One call after the other, so that it is known how long each takes.
    const worker = await workerAt(engine.target, { ...byFile(), RAG_SERVING_BATCHES_IN_FLIGHT: '1' });
    await untilPersisted(worker, 32);
    const embedded = await embeddedTexts(engine, 1);
    // Of the 4 s after the margin 3 are for work: enough for the call that has just begun, not for the one after it.
    writeFileSync(hook(), '{"left_ms":6000}');
    expect(await worker.program.exited).toEqual({ code: 3, signal: null });
    expect(logged(worker, 'drained')?.abandoned).toBeGreaterThan(0);
    const stored = await storedCount(chunks);
    expect(stored).toBe(embedded + 32);
    expect(await embeddedTexts(engine, 1)).toBe(stored);
    const steps = worker.log.filter(({ msg }) => msg === 'drain step');
    expect(steps).toContainEqual(expect.objectContaining({ step: 'finish work in flight', result: 'done' }));
    rmSync(hook());
    await engine.program.kill();
    await expectPassedOn(chunks);
  });
});
