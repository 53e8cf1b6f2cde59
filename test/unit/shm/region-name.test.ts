import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  belongsTo,
  ownerFileName,
  parseName,
  randomNonce,
  regionName,
  workerPart,
} from '../../../src/shm/region-name.ts';

const NONCE = '0123456789abcdef';
const tricky = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }),
  fc.string({ unit: fc.constantFrom('a', 'b', '-', '.', '_', '~', '/', '0'), minLength: 1, maxLength: 60 }),
);

describe('names of regions', () => {
  it('reads as worker id and nonce', () => {
    expect(regionName('ingest-0', NONCE)).toBe(`rag-ingest-0-${NONCE}`);
    expect(ownerFileName('ingest-0', NONCE)).toBe(`rag-ingest-0-${NONCE}.owner`);
  });

  it('makes one path component that fits a unix socket, whatever the worker id', () => {
    fc.assert(
      fc.property(tricky, (workerId) => {
        expect(ownerFileName(workerId, NONCE)).toMatch(/^rag-[A-Za-z0-9._~-]+$/);
        expect(`/dev/shm/${ownerFileName(workerId, NONCE)}`.length).toBeLessThan(100);
      }),
    );
  });

  it('gives back what it was made of', () => {
    fc.assert(
      fc.property(tricky, (workerId) => {
        const nonce = randomNonce();
        const worker = workerPart(workerId);
        expect(parseName(regionName(workerId, nonce))).toEqual({ worker, nonce, kind: 'region' });
        expect(parseName(ownerFileName(workerId, nonce))).toEqual({ worker, nonce, kind: 'owner' });
      }),
    );
  });

  it('never confuses two worker ids', () => {
    fc.assert(
      fc.property(tricky, tricky, (mine, other) => {
        fc.pre(mine !== other);
        expect(belongsTo(parseName(regionName(other, NONCE))!, mine)).toBe(false);
      }),
    );
  });

  const pairs: { name: string; mine: string; other: string }[] = [
    { name: 'one id is the beginning of the other', mine: 'w', other: 'w-1' },
    { name: 'sanitising makes them alike', mine: 'a/b', other: 'a_b' },
    { name: 'two ids sanitise alike', mine: 'a/b', other: 'a:b' },
    { name: 'long ids differ in the last character only', mine: `${'x'.repeat(60)}1`, other: `${'x'.repeat(60)}2` },
    { name: 'an id looks like a whole region name', mine: 'w', other: `w-${NONCE}` },
    { name: 'an id ends like an owner file', mine: 'w', other: `w-${NONCE}.owner` },
    { name: 'an id imitates the hashed form of another', mine: 'a/b', other: workerPart('a/b') },
    { name: 'case differs', mine: 'W', other: 'w' },
  ];
  for (const { name, mine, other } of pairs) {
    it(`tells worker ids apart when ${name}`, () => {
      for (const file of [regionName(other, NONCE), ownerFileName(other, NONCE)]) {
        expect(belongsTo(parseName(file)!, mine)).toBe(false);
        expect(belongsTo(parseName(file)!, other)).toBe(true);
      }
    });
  }

  for (const foreign of [
    '',
    'rag-',
    'rag-w',
    `rag--${NONCE}`,
    `rag-w-${NONCE}0`,
    `rag-w-${NONCE}.own`,
    `x-rag-w-${NONCE}`,
    `rag-w-${NONCE}\n`,
    'sem.foo',
  ]) {
    it(`takes ${JSON.stringify(foreign)} for no name of ours`, () => {
      expect(parseName(foreign)).toBeUndefined();
    });
  }

  it('refuses an empty worker id and names the setting', () => {
    expect(() => workerPart('')).toThrow(/RAG_SERVING_WORKER_ID/);
  });

  it('never gives the same nonce twice', () => {
    expect(new Set(Array.from({ length: 1000 }, randomNonce)).size).toBe(1000);
  });
});
