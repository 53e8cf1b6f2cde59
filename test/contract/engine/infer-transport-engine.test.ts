/** The transports of an inference against the embedded engine. */
import { afterAll, beforeAll, describe } from 'vitest';
import { textRequest, transportContract, transports } from '../infer-transport.ts';
import { type RunningEngine, runEngine } from './engine-fixture.ts';

const MODEL = 'batch_embedder_ensemble';

describe.each(transports)('%s', (inferOver) => {
  let quick: RunningEngine;
  let slow: RunningEngine;
  beforeAll(async () => {
    quick = await runEngine();
    slow = await runEngine({ synthetic: { batchMs: 300 }, queue: { maxQueueSize: 4 } });
  });
  afterAll(() => Promise.all([quick.stop(), slow.stop()]));

  transportContract(inferOver, () => ({
    target: `127.0.0.1:${quick.engine.ports.grpcPort}`,
    embedder: MODEL,
    slow: { target: `127.0.0.1:${slow.engine.ports.grpcPort}`, request: textRequest(MODEL, ['x']) },
  }));
});
