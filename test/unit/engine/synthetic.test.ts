import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { syntheticScore, syntheticVector } from '../../../src/engine/synthetic.ts';
import {
  plainSynthetic,
  SyntheticCompute,
  type SyntheticOptions,
  syntheticEmbedding,
  syntheticReranking,
} from '../../../src/engine/synthetic-compute.ts';
import { WireFault } from '../../../src/engine/wire-fault.ts';
import { decodeFp16 } from '../../../src/kserve/fp16.ts';
import { vectorFault } from '../../../src/kserve/vector.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'utf8');
const norm = (values: Float32Array): number => Math.hypot(...values);

describe('syntheticVector', () => {
  it('is the documented function of the SHA-256 of the bytes', () => {
    const digest = createHash('sha256').update('hello').digest();
    const word = (i: number) => digest.readUInt32LE(i * 4);
    // First output of xoshiro128** seeded with the folded digest: rotl(b * 5, 7) * 9.
    const b = (word(1) ^ word(5)) >>> 0;
    const mixed = Math.imul(b, 5) >>> 0;
    const output = Math.imul(((mixed << 7) | (mixed >>> 25)) >>> 0, 9) | 0;
    const [low, high] = [(output << 16) >> 16, output >> 16];
    const values = decodeFp16(syntheticVector(bytes('hello'), 2));
    expect(values[0]! / values[1]!).toBeCloseTo(low / high, 2);
    expect(Math.sign(values[0]!)).toBe(Math.sign(low));
  });

  it('never changes: stores and tests hold its bits', () => {
    const hex = (text: string) => Buffer.from(syntheticVector(bytes(text), 4)).toString('hex');
    expect([hex(''), hex('hello'), hex('你好')]).toMatchInlineSnapshot(`
      [
        "f0b7a3b8042c26b9",
        "88323cb5fab95438",
        "a4ba8fb047b864ac",
      ]
    `);
  });

  it('is normalised, for even and odd dims', () => {
    for (const dims of [1, 3, 384, 1024]) {
      expect(norm(decodeFp16(syntheticVector(bytes(`text ${dims}`), dims)))).toBeCloseTo(1, 2);
    }
  });

  it('differs for texts that differ in one byte', () => {
    const rows = Array.from({ length: 1000 }, (_, i) =>
      Buffer.from(syntheticVector(bytes(`text ${i}`), 16)).toString('hex'),
    );
    expect(new Set(rows).size).toBe(1000);
  });

  it('scores a pair of equal sides 1 and others below', () => {
    expect(syntheticScore(bytes('a'), bytes('a'), 384)).toBeCloseTo(1, 5);
    expect(Math.abs(syntheticScore(bytes('a'), bytes('b'), 384))).toBeLessThan(0.3);
  });
});

function compute(options: Partial<SyntheticOptions>): SyntheticCompute {
  const all = { ...plainSynthetic, dims: 8, ...options };
  return new SyntheticCompute(all, syntheticEmbedding(all.dims));
}

describe('SyntheticCompute', () => {
  it('answers each request with the rows of its own texts', async () => {
    const results = await compute({}).run([[[bytes('a'), bytes('b')]], [[bytes('c')]]]);
    expect(results).toEqual([
      new Uint8Array([...syntheticVector(bytes('a'), 8), ...syntheticVector(bytes('b'), 8)]),
      new Uint8Array(syntheticVector(bytes('c'), 8)),
    ]);
  });

  const spoilt = [
    { kind: 'nan', fault: 'VECTOR_NOT_FINITE' },
    { kind: 'inf', fault: 'VECTOR_NOT_FINITE' },
    { kind: 'zero', fault: 'VECTOR_ZERO' },
  ] as const;
  for (const { kind, fault } of spoilt) {
    it(`spoils only the marked row: ${kind} (T10)`, async () => {
      const [rows] = await compute({ faults: [{ marker: 'BAD', kind }] }).run([
        [[bytes('one'), bytes('so BAD'), bytes('three')]],
      ]);
      const row = (i: number) => (rows as Uint8Array).subarray(i * 16, (i + 1) * 16);
      expect([0, 1, 2].map((i) => vectorFault(row(i), 'FP16'))).toEqual([undefined, fault, undefined]);
    });
  }

  it('spoils a score as FP32', async () => {
    const reranker = new SyntheticCompute(
      { ...plainSynthetic, faults: [{ marker: 'BAD', kind: 'nan' }] },
      syntheticReranking(8),
    );
    const [rows] = await reranker.run([[[bytes('q')], [bytes('BAD')]]]);
    expect(Buffer.from(rows as Uint8Array).readFloatLE(0)).toBeNaN();
  });

  it('fails the marked request, quoting it as real models do, and answers the others of the batch (T20)', async () => {
    const results = await compute({ faults: [{ marker: 'BAD', kind: 'invalid-argument' }] }).run([
      [[bytes('good')]],
      [[bytes('good'), bytes('BAD')]],
    ]);
    expect(results[0]).toBeInstanceOf(Uint8Array);
    expect(results[1]).toBeInstanceOf(WireFault);
    expect((results[1] as WireFault).status).toBe('INVALID_ARGUMENT');
    expect((results[1] as WireFault).message).toContain('BAD');
  });

  it('spreads its error rate evenly over the requests', async () => {
    const quarter = compute({ errorRate: 0.25 });
    const failed: boolean[] = [];
    for (let i = 0; i < 8; i++) failed.push((await quarter.run([[[bytes('x')]]]))[0] instanceof WireFault);
    expect(failed).toEqual([false, false, false, true, false, false, false, true]);
  });

  it('takes its service time: a batch, each row, and a stall', async () => {
    const slow = compute({ batchMs: 20, perTextUs: 10_000, stallEvery: 2, stallMs: 100 });
    const took = async () => {
      const start = performance.now();
      await slow.run([[[bytes('a'), bytes('b')]]]);
      return performance.now() - start;
    };
    expect(await took()).toBeGreaterThanOrEqual(39);
    expect(await took()).toBeGreaterThanOrEqual(139);
  });
});
