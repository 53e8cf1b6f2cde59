/** The online module against the embedded engine, whose synthetic scores are known: a passage that is the query scores 1. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOnline, type Online } from '../../../online/index.ts';
import { type RunningEngine, runEngine } from '../engine/engine-fixture.ts';
import { transports } from '../infer-transport.ts';
import { candidatesOf, onlineContract, optionsFor, patient } from '../online-contract.ts';

let engine: RunningEngine;
const target = () => `127.0.0.1:${engine.engine.ports.grpcPort}`;
beforeAll(async () => {
  engine = await runEngine();
});
afterAll(() => engine.stop());

describe.each(transports)('%s', (transport) => {
  onlineContract(transport, () => ({
    target: target(),
    ranking: { query: 'the query', passages: ['the query', 'something else', 'another thing'] },
  }));

  describe('a thousand candidates', () => {
    let online: Online;
    beforeAll(async () => {
      online = await createOnline(optionsFor(target(), transport));
    });
    afterAll(() => online.close());

    it('the best is found at place 999, in requests of 32 (O03)', async () => {
      const given = candidatesOf(Array.from({ length: 1_000 }, (_, i) => (i === 999 ? 'needle' : `hay ${i}`)));
      const { results, source, timing } = await online.rerank('needle', given, patient);
      expect(source).toBe('cross-encoder');
      expect(timing.requests).toBe(32);
      expect(results[0]).toMatchObject({ id: 'c999', index: 999, rank: 1 });
      expect(results[0]!.score).toBeCloseTo(1, 5);
      expect(new Set(results.map(({ index }) => index)).size).toBe(1_000);
      const scores = await Promise.all(
        [0, 500].map(async (index) => {
          const alone = await online.rerank('needle', [given[index]!], patient);
          return [alone.results[0]!.score, results.find((one) => one.index === index)!.score];
        }),
      );
      for (const [alone, among] of scores) expect(among).toBe(alone);
    });

    it.each([
      [0, 0],
      [1, 1],
      [5, 5],
      [6, 5],
      [undefined, 5],
    ])('topK %s of 5 gives %i (O02)', async (topK, expected) => {
      const { results } = await online.rerank('q', candidatesOf(['a', 'b', 'c', 'd', 'e']), { ...patient, topK });
      expect(results).toHaveLength(expected);
      expect(results.every((one) => one !== undefined)).toBe(true);
    });
  });
});
