/**
 * What an inference means to its caller, whichever way it travels: every transport runs this suite, against the embedded
 * engine and against a real Triton.
 *
 * The slow model takes some tenths of a second a request and queues at most a few; the embedder gives a vector a text.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { InferenceClient } from '../../src/inference/client.ts';
import { createGrpcInferenceClient, type GrpcClientOptions } from '../../src/inference/grpc-client.ts';
import { encodeAll } from '../../src/kserve/bytes.ts';
import type { InferRequest } from '../../src/kserve/tensor.ts';

export type TransportServer = {
  readonly target: string;
  readonly embedder: string;
  /** May be at another server. */
  readonly slow: { readonly target: string; readonly request: InferRequest };
};

export const transports = ['unary', 'stream'] as const;
export type TransportName = (typeof transports)[number];

const soon = { timeoutMs: 30_000 };

export function openTransport(target: string, inferOver: TransportName, more: Partial<GrpcClientOptions> = {}) {
  return createGrpcInferenceClient({ target, targetSetting: 'X', receiveLimitBytes: 4 << 20, inferOver, ...more });
}

export function textRequest(modelName: string, texts: readonly string[], id?: string): InferRequest {
  return {
    modelName,
    ...(id === undefined ? {} : { id }),
    inputs: [
      {
        name: 'TEXT',
        datatype: 'BYTES',
        shape: [texts.length, 1],
        data: { kind: 'inline', bytes: encodeAll(texts) },
      },
    ],
    outputs: [{ name: 'EMBEDDING' }],
  };
}

export async function vectorsOf(client: InferenceClient, model: string, texts: readonly string[]): Promise<string[]> {
  const { outputs } = await client.infer(textRequest(model, texts), soon);
  const { data } = outputs[0]!;
  if (data.kind !== 'inline') throw new Error('the vectors came in a region');
  const size = data.bytes.length / texts.length;
  return texts.map((_, row) => Buffer.from(data.bytes.subarray(row * size, (row + 1) * size)).toString('hex'));
}

export function transportContract(inferOver: TransportName, server: () => TransportServer): void {
  let client: InferenceClient;
  let slowly: InferenceClient;
  let other: InferenceClient;
  beforeAll(() => {
    const { target, slow } = server();
    client = openTransport(target, inferOver);
    slowly = slow.target === target ? client : openTransport(slow.target, inferOver);
    other = openTransport(target, 'unary');
  });
  afterAll(() => {
    for (const one of [client, slowly, other]) one.close();
  });
  const embedder = () => server().embedder;
  const slow = () => server().slow.request;

  it('gives the vectors that every other way gives', async () => {
    const texts = ['one', '', 'Ein Stück Text: 你好 🚀', 'x'.repeat(5_000)];
    expect(await vectorsOf(client, embedder(), texts)).toEqual(await vectorsOf(other, embedder(), texts));
  });

  it('gives back the id of the request, and none where there was none', async () => {
    expect((await client.infer(textRequest(embedder(), ['a'], 'r-17'), soon)).id).toBe('r-17');
    expect((await client.infer(textRequest(embedder(), ['a']), soon)).id).toBe('');
  });

  it('two hundred at once: each gets its own vector', async () => {
    const texts = Array.from({ length: 200 }, (_, i) => `text number ${i}`);
    const expected = await vectorsOf(other, embedder(), texts.slice(0, 32));
    const alone = await Promise.all(texts.map((text) => vectorsOf(client, embedder(), [text])));
    expect(new Set(alone.map(([vector]) => vector)).size).toBe(200);
    expect(alone.slice(0, 32).map(([vector]) => vector)).toEqual(expected);
  });

  it('a model that is not there is MODEL_NOT_READY, and the next request is answered', async () => {
    const missing = client.infer(textRequest('no_such_model', ['a']), soon);
    await expect(missing).rejects.toMatchObject({ code: 'MODEL_NOT_READY' });
    await vectorsOf(client, embedder(), ['a']);
  });

  it('a request of the wrong shape is INFERENCE_REJECTED and takes no neighbour with it', async () => {
    const good = vectorsOf(client, embedder(), ['a']);
    const wrong = textRequest(embedder(), ['a', 'b', 'c']);
    const flat = { ...wrong, inputs: [{ ...wrong.inputs[0]!, shape: [3] }] };
    await expect(client.infer(flat, soon)).rejects.toMatchObject({ code: 'INFERENCE_REJECTED' });
    await good;
  });

  it('a late answer is INFERENCE_DEADLINE in time; what is asked meanwhile is answered', async () => {
    const late = slowly.infer(slow(), { timeoutMs: 100 });
    await expect(late).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    await vectorsOf(client, embedder(), ['a']);
  });

  it('an overdue request fails none that is not overdue yet', async () => {
    const late = slowly.infer(slow(), { timeoutMs: 100 });
    const patient = slowly.infer(slow(), { timeoutMs: 10_000 });
    await expect(late).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    expect((await patient).outputs).toHaveLength(1);
  });

  it('a caller that gives up gets INFERENCE_CANCELLED at once', async () => {
    const stop = new AbortController();
    const call = slowly.infer(slow(), { timeoutMs: 10_000, signal: stop.signal });
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
    const never = slowly.infer(slow(), { timeoutMs: 10_000, signal: stop.signal });
    await expect(never).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
  });

  for (const timeoutMs of [Number.NaN, 0, -1, Number.POSITIVE_INFINITY, 2 ** 40]) {
    it(`a deadline of ${timeoutMs} ms is ARGUMENT_INVALID, not a call that ends at once or never (O15)`, async () => {
      const call = client.infer(textRequest(embedder(), ['a']), { timeoutMs });
      await expect(call).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    });
  }

  it('a full queue is INFERENCE_QUEUE_FULL, and what was queued is answered', async () => {
    const calls = Array.from({ length: 12 }, () => slowly.infer(slow(), soon));
    const ended = await Promise.allSettled(calls);
    const refused = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(12);
    for (const error of refused) expect(error).toMatchObject({ code: 'INFERENCE_QUEUE_FULL' });
  });

  it('whoever waits when the client is closed is told so', async () => {
    const closing = openTransport(server().slow.target, inferOver);
    const call = closing.infer(slow(), soon);
    closing.close();
    await expect(call).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
    await expect(closing.infer(slow(), soon)).rejects.toMatchObject({
      code: 'INFERENCE_UNAVAILABLE',
    });
  });
}
