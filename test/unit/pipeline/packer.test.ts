import { describe, expect, it } from 'vitest';
import { Packer } from '../../../src/pipeline/packer.ts';

const limits = { maxItems: 3, maxBytes: 100, maxWaitMs: 50 };

describe('Packer', () => {
  it('closes by count, in order', () => {
    const packer = new Packer<string>(limits);
    expect(packer.add('a', 1, 0)).toEqual([]);
    expect(packer.add('b', 1, 0)).toEqual([]);
    expect(packer.add('c', 1, 0)).toEqual([{ items: ['a', 'b', 'c'], bytes: 3, longestBytes: 1, closedBy: 'items' }]);
    expect(packer.size).toBe(0);
  });

  it('closes before the item that would overflow the slot', () => {
    const packer = new Packer<string>(limits);
    packer.add('a', 60, 0);
    expect(packer.add('b', 41, 0)).toEqual([{ items: ['a'], bytes: 60, longestBytes: 60, closedBy: 'bytes' }]);
    expect(packer.flush()).toEqual({ items: ['b'], bytes: 41, longestBytes: 41, closedBy: 'flush' });
  });

  it('fills a slot to the last byte', () => {
    const packer = new Packer<string>(limits);
    packer.add('a', 60, 0);
    expect(packer.add('b', 40, 0)).toEqual([]);
  });

  it('an oversized item closes what is open and can close itself in the same call', () => {
    const packer = new Packer<string>({ ...limits, maxItems: 1 });
    expect(packer.add('big', 1_000, 0)).toEqual([
      { items: ['big'], bytes: 1_000, longestBytes: 1_000, closedBy: 'items' },
    ]);
  });

  it('counts age from the oldest item', () => {
    const packer = new Packer<string>(limits);
    expect(packer.dueAt).toBeUndefined();
    packer.add('a', 1, 10);
    packer.add('b', 1, 55);
    expect(packer.dueAt).toBe(60);
    expect(packer.closeIfDue(59)).toBeUndefined();
    expect(packer.closeIfDue(60)?.items).toEqual(['a', 'b']);
    expect(packer.closeIfDue(1_000)).toBeUndefined();
  });

  it('gives the room of dropped items back', () => {
    const packer = new Packer<string>(limits);
    packer.add('a', 60, 0);
    packer.add('b', 30, 0);
    expect(packer.drop((item) => item === 'a')).toEqual(['a']);
    expect(packer.add('c', 70, 0)).toEqual([]);
    expect(packer.flush()).toEqual({ items: ['b', 'c'], bytes: 100, longestBytes: 70, closedBy: 'flush' });
  });
});
