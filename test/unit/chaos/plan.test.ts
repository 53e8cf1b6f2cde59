import { describe, expect, it } from 'vitest';
import { faults, planRounds } from '../../chaos/plan.ts';
import { readSettings, repeatCommand } from '../../chaos/settings.ts';
import { Stream } from '../../chaos/stream.ts';

const shape = { partitions: 12, documents: 240, chunksPerDocument: 20 };

describe('a seed', () => {
  it('gives the same plan and the same stream, another seed others', () => {
    expect(planRounds(5, 200, 3)).toEqual(planRounds(5, 200, 3));
    expect(planRounds(5, 200, 3)).not.toEqual(planRounds(6, 200, 3));
    const taken = [new Stream(5, shape), new Stream(5, shape)].map((stream) => stream.take(500));
    expect(taken[0]).toEqual(taken[1]);
  });

  it('gives every fault within 40 rounds', () => {
    for (let seed = 0; seed < 50; seed++) {
      expect(new Set(planRounds(seed, 40, 3).map(({ fault }) => fault))).toEqual(new Set(faults));
    }
  });
});

describe('a round of two faults', () => {
  it('is common, and hits a worker and what it depends on', () => {
    const isOfWorker = (fault: string) => /^(worker|guest|shared)/.test(fault);
    const rounds = planRounds(1, 1_000, 3);
    const double = rounds.filter(({ also }) => also !== undefined);
    expect(double.length).toBeGreaterThan(300);
    for (const { fault, also } of double) expect(isOfWorker(fault)).not.toBe(isOfWorker(also!.fault));
  });
});

describe('the stream', () => {
  const messages = new Stream(1, shape).take(20_000);
  const operations = messages.flatMap((message) => message.operations);

  it('holds all kinds of messages, and no text twice', () => {
    const texts = operations.flatMap((one) => (one.kind === 'write' ? [one.text] : []));
    expect(new Set(texts).size).toBe(texts.length);
    const lengths = texts.map((text) => Buffer.byteLength(text));
    expect(Math.min(...lengths)).toBeLessThan(100);
    expect(Math.max(...lengths)).toBeGreaterThan(15_000);
    expect(Math.max(...lengths)).toBeLessThan(65_536);
    expect(operations.filter(({ kind }) => kind === 'delete chunk').length).toBeGreaterThan(500);
    expect(operations.filter(({ kind }) => kind === 'delete document').length).toBeGreaterThan(50);
    expect(messages.filter((message) => message.operations.length > 1).length).toBeGreaterThan(1_000);
  });

  it('keeps a document in one partition, tombstones included', () => {
    const partitionOf = new Map<string, number>();
    for (const { partition, operations: all } of messages) {
      for (const { documentId } of all) {
        expect(partitionOf.get(documentId) ?? partition).toBe(partition);
        partitionOf.set(documentId, partition);
      }
    }
    expect(new Set(partitionOf.values()).size).toBe(12);
  });
});

describe('settings of a run', () => {
  it('are told in the command that repeats it', () => {
    const settings = readSettings({ CHAOS_SEED: '7', CHAOS_ROUNDS: '20', CHAOS_ENGINE: '' });
    expect(settings).toEqual({ seed: 7, rounds: 20, checkEvery: 10, engine: 'embedded', sink: 'redis' });
    const told = Object.fromEntries(
      repeatCommand(settings)
        .split(' ')
        .slice(2)
        .map((pair) => pair.split('=')),
    );
    expect(readSettings(told)).toEqual(settings);
  });

  it('every store that a chaos run can have is taken by its name', () => {
    for (const sink of ['redis', 'pgvector', 'kafka-topic', 'lancedb']) {
      expect(readSettings({ CHAOS_SINK: sink })).toMatchObject({ sink });
    }
  });

  it.for([{ CHAOS_SEED: 'x' }, { CHAOS_ROUNDS: '0' }, { CHAOS_ENGINE: 'other' }, { CHAOS_SINK: 'memory' }])(
    '%o is refused',
    (env) => {
      expect(() => readSettings(env)).toThrow(/CHAOS_/);
    },
  );
});
