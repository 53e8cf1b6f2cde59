import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Flow } from '../../../src/kafka/flow.ts';

const limits = { maxInFlightChunks: 10, maxInFlightBytes: 1_000, lowRatio: 0.5 };
const p0 = { topic: 't', partition: 0 };
const p1 = { topic: 't', partition: 1 };

describe('Flow.admission', () => {
  it('stops at the number of chunks and is low again at half of it', () => {
    const flow = new Flow(limits);
    for (let i = 0; i < 10; i++) {
      expect(flow.admission(p0, 1, 1)).toBe('admit');
      flow.add(p0, 1, 1);
    }
    expect(flow.admission(p0, 1, 1)).toBe('wait-low');
    flow.remove(p0, 4, 4);
    expect(flow.isLow).toBe(false);
    flow.remove(p0, 1, 1);
    expect(flow.isLow).toBe(true);
  });

  it('stops at the number of bytes', () => {
    const flow = new Flow(limits);
    flow.add(p0, 1, 700);
    expect(flow.admission(p0, 301, 1)).toBe('wait-low');
    expect(flow.admission(p0, 300, 1)).toBe('admit');
  });

  it('lets a message larger than the whole budget pass when nothing is in flight (K12)', () => {
    const flow = new Flow(limits);
    flow.add(p0, 1, 1);
    expect(flow.admission(p0, 5_000, 1)).toBe('wait-empty');
    flow.remove(p0, 1, 1);
    expect(flow.admission(p0, 5_000, 1)).toBe('admit');
  });

  it('above the low mark, holds back the partition that has its share and no other', () => {
    const flow = new Flow(limits);
    flow.add(p0, 6, 6);
    expect(flow.admission(p0, 1, 2)).toBe('wait-share');
    expect(flow.admission(p1, 1, 2)).toBe('admit');
    expect(flow.admission(p0, 1, 1)).toBe('admit');
  });

  it('forgets a lost partition, and whatever is removed for it afterwards', () => {
    const flow = new Flow(limits);
    flow.add(p0, 6, 60);
    flow.add(p1, 1, 10);
    flow.forget(p0);
    flow.remove(p0, 6, 60);
    expect([flow.chunks, flow.bytes]).toEqual([1, 10]);
  });

  it('never holds more than the limit and one message, in any order', () => {
    const step = fc.record({
      partition: fc.nat(2),
      chunks: fc.integer({ min: 1, max: 4 }),
      bytes: fc.integer({ min: 1, max: 400 }),
      release: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const flow = new Flow(limits);
        const held: { partition: number; chunks: number; bytes: number }[] = [];
        for (const { release, ...message } of steps) {
          const oldest = release ? held.shift() : undefined;
          if (oldest !== undefined)
            flow.remove({ topic: 't', partition: oldest.partition }, oldest.chunks, oldest.bytes);
          const id = { topic: 't', partition: message.partition };
          if (flow.admission(id, message.bytes, 3) !== 'admit') continue;
          flow.add(id, message.chunks, message.bytes);
          held.push(message);
          expect(flow.chunks).toBe(held.reduce((sum, one) => sum + one.chunks, 0));
          expect(flow.chunks).toBeLessThan(limits.maxInFlightChunks + 4);
          expect(flow.bytes <= limits.maxInFlightBytes || held.length === 1).toBe(true);
        }
      }),
    );
  });
});
