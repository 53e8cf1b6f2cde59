/** Streams when the network or the server misbehaves, with the embedded engine behind a TCP proxy. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FaultProxy, startProxy } from '../../../scripts/stack/proxy.ts';
import type { InferenceClient } from '../../../src/inference/client.ts';
import { endPrograms, startEngine } from '../../integration/worker/harness.ts';
import { startFakeServer } from '../../unit/inference/fake-server.ts';
import { openTransport, textRequest, vectorsOf } from '../infer-transport.ts';
import { type RunningEngine, runEngine } from './engine-fixture.ts';

const MODEL = 'batch_embedder_ensemble';
const ask = (client: InferenceClient, timeoutMs = 5_000) => client.infer(textRequest(MODEL, ['a']), { timeoutMs });

let engine: RunningEngine;
let proxy: FaultProxy;
let ends: (() => unknown)[];
beforeEach(async () => {
  engine = await runEngine();
  proxy = await startProxy({ target: { port: engine.engine.ports.grpcPort } });
  ends = [() => engine.stop(), () => proxy.close()];
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
});

function connect(target: string): InferenceClient {
  const client = openTransport(target, 'stream');
  ends.push(() => client.close());
  return client;
}

describe('a stream', () => {
  it('that is cut rejects what waits as INFERENCE_UNAVAILABLE, and the next request opens another', async () => {
    const client = connect(proxy.address);
    await ask(client);
    proxy.blackhole();
    const waiting = ask(client);
    await proxy.cut();
    await expect(waiting).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
    await proxy.restore();
    await expect
      .poll(
        () =>
          ask(client).then(
            () => 'answered',
            () => 'failed',
          ),
        { timeout: 10_000 },
      )
      .toBe('answered');
  });

  it('to a silent peer costs each request its deadline and no more; it answers again when the peer does', async () => {
    const client = connect(proxy.address);
    await ask(client);
    proxy.blackhole();
    const ended = await Promise.allSettled([ask(client, 60), ask(client, 120)]);
    expect(ended.map((end) => end.status === 'rejected' && end.reason.code)).toEqual([
      'INFERENCE_DEADLINE',
      'INFERENCE_DEADLINE',
    ]);
    await proxy.restore();
    await vectorsOf(client, MODEL, ['a']);
  });

  it('gives an answer that arrived while this process was busy, though the deadline has passed meanwhile', async () => {
    // An engine of its own process, which answers while this one stands still.
    const own = await startEngine();
    ends.push(() => endPrograms());
    const client = connect(own.target);
    await ask(client);
    const answer = ask(client, 100);
    await sleep(20);
    // From here the event loop goes on with its timers, and only then with what has come in.
    await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    expect((await answer).outputs).toHaveLength(1);
  });

  it('goes on at another endpoint when its own is gone, without an error', async () => {
    const other = await runEngine();
    ends.push(() => other.stop());
    const client = connect(`${proxy.address},127.0.0.1:${other.engine.ports.grpcPort}`);
    for (let i = 0; i < 4; i++) await ask(client);
    await proxy.cut();
    for (let i = 0; i < 20; i++) await ask(client);
  });
});

describe('a server without streams', () => {
  it('is asked call by call', async () => {
    const seen: string[] = [];
    const server = await startFakeServer({
      modelInfer: ({ modelName, id }) => {
        seen.push(modelName);
        return {
          modelName,
          id,
          outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [1n, 2n] }],
          rawOutputContents: [new Uint8Array(4)],
        };
      },
    });
    ends.push(() => server.stop());
    const client = connect(server.target);
    await ask(client);
    await ask(client);
    expect(seen).toEqual([MODEL, MODEL]);
  });
});
