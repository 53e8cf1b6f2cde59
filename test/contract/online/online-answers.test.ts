/** Models that are not what they should be, and answers that are no good. */
import { status } from '@grpc/grpc-js';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { createOnline, type Online, type OnlineHost, type OnlineOptions } from '../../../online/index.ts';
import { type Handlers, silence, startFakeServer } from '../../unit/inference/fake-server.ts';
import { type Overrides, runEngine } from '../engine/engine-fixture.ts';
import { candidatesOf, optionsFor } from '../online-contract.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function serve(overrides: Overrides = {}): Promise<string> {
  const engine = await runEngine(overrides);
  open.push(() => engine.stop());
  return `127.0.0.1:${engine.engine.ports.grpcPort}`;
}

async function connect(options: OnlineOptions, host: OnlineHost = {}): Promise<Online> {
  const online = await createOnline(options, host);
  open.push(() => online.close());
  return online;
}

const candidates = candidatesOf(['a', 'b', 'c']);
const patient = { timeoutMs: 10_000 };

describe('a model', () => {
  it('that is not the one expected ends createOnline, by its name', async () => {
    const options = optionsFor(await serve(), 'stream');
    const swapped = { ...options, rerank: { ...options.rerank, model: 'online_embedder_ensemble' } };
    await expect(createOnline(swapped)).rejects.toMatchObject({ code: 'MODEL_CONTRACT_MISMATCH' });
    await expect(createOnline(swapped)).rejects.toThrow('QUERY');
  });

  it('that is not there makes a client that is not ready, and one that stops waiting when it is told to', async () => {
    const options = optionsFor(await serve(), 'stream');
    const missing = { ...options, embed: { ...options.embed, model: 'nobody' } };
    const online = await connect({ ...missing, warmUpTimeoutMs: 200 });
    expect(online.health()).toMatchObject({ status: 'not-ready', embed: { ready: false }, rerank: { ready: true } });
    expect(online.health().embed.reason).toContain('nobody');
    await expect(online.ready(AbortSignal.timeout(50))).rejects.toThrow();
    const stop = new AbortController();
    const waiting = createOnline(missing, { signal: stop.signal });
    stop.abort(new Error('going down'));
    await expect(waiting).rejects.toThrow('going down');
  });
});

describe('an answer', () => {
  it('that fails, or has a score or an element that is no number, is told as what it is', async () => {
    const faults = [
      { marker: 'NAN', kind: 'nan' },
      { marker: 'ZERO', kind: 'zero' },
      { marker: 'BROKEN', kind: 'internal' },
      { marker: 'REFUSED', kind: 'invalid-argument' },
    ] as const;
    const registry = new Registry();
    const online = await connect(optionsFor(await serve({ synthetic: { faults } }), 'stream'), { registry });
    const reasonOf = async (query: string) => (await online.rerank(query, candidates, patient)).degraded;
    expect(await reasonOf('NAN')).toBe('bad-scores');
    expect(await reasonOf('BROKEN')).toBe('error');
    expect(await reasonOf('REFUSED')).toBe('error');
    expect(await reasonOf('   ')).toBe('blank-query');
    const codeOf = (query: string) => online.embed(query, patient).catch(({ code }: { code: string }) => code);
    expect(await codeOf('NAN')).toBe('VECTOR_NOT_FINITE');
    expect(await codeOf('ZERO')).toBe('VECTOR_ZERO');
    expect(await codeOf('BROKEN')).toBe('INFERENCE_FAILED');
    // An error on a stream has words and no status, and these words are this engine's own.
    expect(await codeOf('REFUSED')).toBe('INFERENCE_FAILED');
    expect(await codeOf(' ')).toBe('ARGUMENT_INVALID');
    // None of this says that the server is away.
    expect(online.health().status).toBe('ready');
    const text = await registry.metrics();
    expect(text).toContain('rag_serving_online_degraded_total{reason="error"} 2');
    expect(text).toContain('rag_serving_online_calls_total{pool="embed",source="none",outcome="VECTOR_ZERO"} 1');
    expect(text).toContain('rag_serving_online_requests_in_flight{pool="rerank"} 0');
  });

  it('with another number of scores than pairs is bad-scores, on a server whose calls see their deadline and trace', async () => {
    const tensor = (name: string, datatype: string, last: bigint) => ({ name, datatype, shape: [-1n, last] });
    const seen: { traceparent: unknown; leftMs: number }[] = [];
    let scores = 1;
    const handlers: Handlers = {
      modelReady: () => ({ ready: true }),
      modelMetadata: ({ name }) => ({
        name,
        inputs: [tensor('QUERY', 'BYTES', 1n), tensor('PASSAGE', 'BYTES', 1n)],
        outputs: [tensor('SCORE', 'FP32', 1n)],
      }),
      modelConfig: () => ({ config: { maxBatchSize: 32 } }),
      modelInfer: ({ modelName, id }, { metadata, deadlineMs }) => {
        seen.push({ traceparent: metadata.get('traceparent')[0], leftMs: deadlineMs - Date.now() });
        const rawOutputContents = [new Uint8Array(4 * scores)];
        const outputs = [{ name: 'SCORE', datatype: 'FP32', shape: [BigInt(scores), 1n] }];
        return { modelName, id, outputs, rawOutputContents };
      },
    };
    const server = await startFakeServer(handlers);
    open.push(() => server.stop());
    const options = optionsFor(server.target, 'unary');
    const online = await connect({ ...options, embed: { ...options.embed, endpoints: await serve() } });
    scores = 2;
    expect((await online.rerank('q', candidates, patient)).degraded).toBe('bad-scores');
    scores = 3;
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect((await online.rerank('q', candidates, { ...patient, traceparent })).degraded).toBeUndefined();
    const last = seen.at(-1)!;
    expect(last.traceparent).toBe(traceparent);
    expect(last.leftMs).toBeGreaterThan(0);
    expect(last.leftMs).toBeLessThanOrEqual(10_000);
  });

  it('with bad numbers already at the warm-up: the model is not ready', async () => {
    const faults = [{ marker: 'warm-up', kind: 'nan' }] as const;
    const options = optionsFor(await serve({ synthetic: { faults } }), 'stream');
    const online = await connect({ ...options, warmUpTimeoutMs: 200 });
    expect(online.health()).toMatchObject({ status: 'not-ready', embed: { ready: false }, rerank: { ready: false } });
    expect((await online.rerank('q', candidates, patient)).degraded).toBe('not-ready');
  });
});

it('a server that answers questions and no inference does not hold createOnline up', async () => {
  const server = await startFakeServer({
    modelReady: () => ({ ready: true }),
    modelMetadata: () => ({ code: status.UNAVAILABLE, details: 'away' }),
    modelConfig: () => silence(),
  });
  open.push(() => server.stop());
  const online = await connect({ ...optionsFor(server.target, 'stream'), warmUpTimeoutMs: 100 });
  expect(online.health().status).toBe('not-ready');
});
