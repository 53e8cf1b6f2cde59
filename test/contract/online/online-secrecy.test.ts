/**
 * Query and passage texts appear in no log line, metric, statistic, health report or error, whatever goes wrong. The engine's
 * faults quote the text that they are about, as models do.
 */
import { inspect } from 'node:util';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOnline, type Log, type Online } from '../../../online/index.ts';
import { type RunningEngine, runEngine } from '../engine/engine-fixture.ts';
import { optionsFor } from '../online-contract.ts';

const SENTINEL = 'ZEBRA-7731';
const registry = new Registry();
const told: unknown[] = [];
let engine: RunningEngine;
let online: Online;

const note = (message: string, fields?: unknown) => void told.push(message, fields);
const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };

beforeAll(async () => {
  const faults = [
    { marker: 'BAD', kind: 'invalid-argument' },
    { marker: 'BROKEN', kind: 'internal' },
    { marker: 'AWAY', kind: 'unavailable' },
    { marker: 'NAN', kind: 'nan' },
    { marker: 'ZERO', kind: 'zero' },
    { marker: 'LATE', kind: 'late' },
  ] as const;
  engine = await runEngine({ synthetic: { faults, lateMs: 30 } });
  online = await createOnline(optionsFor(`127.0.0.1:${engine.engine.ports.grpcPort}`, 'stream'), { log, registry });
});
afterAll(async () => {
  await online.close();
  await engine.stop();
});

it('a sentinel in any text, with any fault, shows nowhere', async () => {
  const fault = fc.constantFrom('', 'BAD', 'BROKEN', 'AWAY', 'NAN', 'ZERO', 'LATE');
  const text = fc.tuple(fault, fc.string({ unit: 'binary' })).map(([marker, rest]) => `${marker} ${SENTINEL} ${rest}`);
  const limits = fc.constantFrom(
    {},
    { timeoutMs: 8 },
    { timeoutMs: Number.NaN },
    { topK: -1 },
    { topK: SENTINEL as never },
  );
  const wrong = fc.constantFrom(undefined, null, [SENTINEL], { [SENTINEL]: SENTINEL });
  await fc.assert(
    fc.asyncProperty(text, fc.array(text, { maxLength: 3 }), limits, wrong, async (query, passages, options, other) => {
      const candidates = passages.map((passage, index) => ({ id: `${SENTINEL}-${index}`, text: passage }));
      const ends = await Promise.allSettled([
        online.embed(query, options),
        online.embed([query, ...passages], options),
        online.rerank(query, candidates, options),
        online.search(query, async () => candidates, options),
        online.embed(other as never),
        online.rerank(query, [other as never], options),
      ]);
      for (const end of ends) if (end.status === 'rejected') told.push(end.reason);
    }),
    { numRuns: 60 },
  );
  told.push(online.stats(), online.health(), await registry.metrics());
  expect(told.length).toBeGreaterThan(100);
  for (const one of told) {
    expect(inspect(one, { depth: 10, getters: true })).not.toContain(SENTINEL);
    expect(JSON.stringify(one) ?? '').not.toContain(SENTINEL);
  }
});
