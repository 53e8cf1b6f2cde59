/** A plan's numbers are those of its arithmetic, and what cannot work is said. */
import { describe, expect, it } from 'vitest';
import { layoutFor } from '../../../../src/shm/layout.ts';
import { planFor } from '../../../../workers/plan/plan.ts';
import { planText } from '../../../../workers/plan/report.ts';
import type { WorkerFacts, Workload } from '../../../../workers/plan/workload.ts';

const GIB = 2 ** 30;
const worker: WorkerFacts = {
  slots: 4,
  slotInputBytes: 1_048_576,
  batchSize: 256,
  maxInFlightBytes: 67_108_864,
  maxStaticVramBytes: 20 * GIB,
  vramMaxUtilizationRatio: 0.85,
};
const load: Workload = {
  chunks: 80_000_000,
  rate: 3_000,
  withinSeconds: 43_200,
  gpu: 'l4',
  gpuRate: 2_500,
  isMeasured: true,
  headroom: 0.2,
  textBytes: 700,
  chunksPerMessage: 1,
  dims: 384,
  dtype: 'FP16',
  modelParameters: 22_700_000,
  retentionSeconds: 604_800,
  replication: 3,
  sink: 'redis',
  storesText: true,
  podHourPrice: undefined,
};

function figureOf(changes: Partial<Workload>, name: string): number | undefined {
  const { sections } = planFor({ ...load, ...changes }, worker);
  return sections.flatMap(({ figures }) => figures).find((one) => one.name === name)?.value;
}

describe('pods', () => {
  it('do backlog and new chunks together within the time', () => {
    // 2,000 a pod; 3,000 + 80e6 / 43,200 = 4,852 a second.
    const { set } = planFor(load, worker);
    expect(set).toMatchObject({ steadyPods: 2, maxPods: 3 });
    expect(figureOf({}, 'backlog gone after')).toBeCloseTo(80e6 / (3 * 2_000 - 3_000), 5);
    expect(figureOf({}, 'backlog gone after')).toBeLessThanOrEqual(load.withinSeconds);
  });

  it('never fewer partitions than pods, over six orders of magnitude', () => {
    for (let rate = 1; rate <= 10_000_000; rate = Math.ceil(rate * 1.37)) {
      const { set } = planFor({ ...load, chunks: 0, rate }, worker);
      expect(set.maxPods * 2_000, `rate ${rate}`).toBeGreaterThanOrEqual(rate);
      expect((set.maxPods - 1) * 2_000, `rate ${rate}`).toBeLessThan(rate);
      expect(set.partitions, `rate ${rate}`).toBeGreaterThanOrEqual(2 * set.maxPods);
    }
  });

  it('a backlog alone needs none for new chunks, and no time to make up an outage', () => {
    expect(planFor({ ...load, rate: 0 }, worker).set).toMatchObject({ steadyPods: 0, maxPods: 1 });
    expect(figureOf({ rate: 0 }, 'an outage of 1 h is made up in')).toBeUndefined();
  });

  it('a price gives the month and the backlog', () => {
    expect(figureOf({ podHourPrice: 0.8 }, 'new chunks, a month')).toBeCloseTo(2 * 730 * 0.8, 6);
    expect(figureOf({ podHourPrice: 0.8 }, 'backlog, once')).toBeCloseTo((80e6 / 3_000 / 3_600) * 0.8, 6);
  });
});

describe('memory', () => {
  it('of the region is what the worker will claim', () => {
    const { regionBytes } = layoutFor({ slots: 4, inputBytes: 1_048_576, outputBytes: 256 * 384 * 2 });
    expect(planFor(load, worker).set.shmBytes).toBe(regionBytes);
  });

  it('texts too long for a slot: a warning with a size that holds them', () => {
    const { warnings } = planFor({ ...load, textBytes: 6_000 }, worker);
    expect(warnings).toContainEqual(expect.stringContaining('RAG_SERVING_SHM_SLOT_INPUT_BYTES to 2097152'));
  });

  it('a model beyond the budget of the GPU: a warning', () => {
    const { warnings } = planFor({ ...load, dims: 4_096, modelParameters: 7e9 }, worker);
    expect(warnings).toContainEqual(expect.stringContaining('GPU memory may pass the budget'));
  });
});

describe('Kafka and store', () => {
  it('several chunks in a message share what a message costs', () => {
    expect(figureOf({}, 'bytes of a chunk in the topic')).toBeCloseTo(985, 6);
    expect(figureOf({ chunksPerMessage: 10 }, 'bytes of a chunk in the topic')).toBeCloseTo(760, 6);
  });

  it('a row without text is smaller by the text', () => {
    expect(figureOf({}, 'a row')! - figureOf({ storesText: false }, 'a row')!).toBe(700);
    expect(figureOf({ dtype: 'FP32' }, 'a row')! - figureOf({}, 'a row')!).toBe(768);
  });

  it.each([
    ['several workers on LanceDB', { sink: 'lancedb' }, 'LanceDB takes one worker'],
    ['a backlog into PostgreSQL', { sink: 'pgvector' }, 'HNSW index of PostgreSQL after the backlog'],
    ['no rate given', { isMeasured: false }, 'give --gpu-rate'],
    ['a peak that fills every pod', { chunks: 0, rate: 4_000 }, 'from the headroom only'],
  ] as const)('%s: a warning', (_, changes, words) => {
    expect(planFor({ ...load, ...changes }, worker).warnings).toContainEqual(expect.stringContaining(words));
    expect(planFor({ ...load, ...changes }, worker).warnings).toHaveLength(1);
  });

  it('nothing to say where everything fits', () => {
    expect(planFor(load, worker).warnings).toEqual([]);
  });
});

it('the text has each figure with its arithmetic, and what to set', () => {
  const plan = planFor(load, worker);
  const text = planText(plan);
  for (const { how } of plan.sections.flatMap(({ figures }) => figures)) expect(text).toContain(`= ${how}`);
  expect(text).toMatch(/^partitions of the topic +6$/m);
  expect(text).toMatch(/^pods: always, at most +2, 3$/m);
});
