import { create } from '@bufbuild/protobuf';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { syntheticVector } from '../../../src/engine/synthetic.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import {
  InferParameterSchema,
  type ModelInferRequest,
  ModelInferRequestSchema,
  type ModelStreamInferResponse,
} from '../../../src/kserve/gen/grpc_service_pb.ts';
import { type RunningEngine, runEngine } from './engine-fixture.ts';

const DIMS = 8;

function message(id: string, values: readonly string[], modelName = 'online_embedder_ensemble', timeoutUs?: number) {
  return create(ModelInferRequestSchema, {
    modelName,
    id,
    inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [BigInt(values.length), 1n] }],
    rawInputContents: [encodeAll(values)],
    ...(timeoutUs !== undefined && {
      parameters: {
        timeout: create(InferParameterSchema, { parameterChoice: { case: 'int64Param', value: BigInt(timeoutUs) } }),
      },
    }),
  });
}

type Stream = ClientDuplexStream<ModelInferRequest, ModelStreamInferResponse>;
type Seen = { readonly id: string; readonly error: string; readonly bytes: Buffer | undefined };

function open(running: RunningEngine): { stream: Stream; seen: Seen[]; ended: Promise<string> } {
  const stream = running.raw.modelStreamInfer!() as Stream;
  const seen: Seen[] = [];
  stream.on('data', ({ errorMessage, inferResponse }: ModelStreamInferResponse) => {
    const bytes = inferResponse?.rawOutputContents[0];
    seen.push({ id: inferResponse?.id ?? '', error: errorMessage, bytes: bytes && Buffer.from(bytes) });
  });
  const ended = new Promise<string>((resolve) => {
    stream.on('end', () => resolve('end'));
    stream.on('error', (error: Error & { details?: string }) => resolve(error.details ?? error.message));
  });
  return { stream, seen, ended };
}

async function withEngine(options: Parameters<typeof runEngine>[0], use: (running: RunningEngine) => Promise<void>) {
  const running = await runEngine(options);
  try {
    await use(running);
  } finally {
    await running.stop();
  }
}

const vector = (text: string) => Buffer.from(syntheticVector(Buffer.from(text), DIMS));

describe('ModelStreamInfer', () => {
  it('answers in the order of the requests, errors as text with the id, and goes on', () =>
    withEngine({ synthetic: { dims: DIMS } }, async (running) => {
      const { stream, seen, ended } = open(running);
      stream.write(message('a', ['one']));
      stream.write(message('b', ['x'], 'nope'));
      stream.write(message('c', Array(33).fill('x')));
      stream.write(message('d', ['two']));
      stream.end();
      expect(await ended).toBe('end');
      expect(seen.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
      expect(seen.map(({ error }) => error)).toEqual([
        '',
        "Request for unknown model: 'nope' is not found",
        "[request id: c] inference request batch-size must be <= 32 for 'online_embedder_ensemble'",
        '',
      ]);
      expect([seen[0]!.bytes, seen[3]!.bytes]).toEqual([vector('one'), vector('two')]);
    }));

  it('holds quick answers back behind a slow one', () =>
    withEngine(
      { synthetic: { dims: DIMS, lateMs: 200, faults: [{ marker: 'LATE', kind: 'late' }] } },
      async (running) => {
        const { stream, seen, ended } = open(running);
        stream.write(message('slow', ['LATE'], 'batch_embedder_ensemble'));
        stream.write(message('quick', ['x'], 'online_embedder_ensemble'));
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect(seen).toEqual([]);
        stream.end();
        await ended;
        expect(seen.map(({ id }) => id)).toEqual(['slow', 'quick']);
      },
    ));

  it('runs the requests of one stream together', () =>
    withEngine({ synthetic: { dims: DIMS }, queue: { queueDelayUs: 50_000 } }, async (running) => {
      const { stream, seen, ended } = open(running);
      for (let i = 0; i < 12; i++) stream.write(message(`${i}`, [`text ${i}`]));
      stream.end();
      await ended;
      expect(seen.map(({ bytes }) => bytes)).toEqual(seen.map((_, i) => vector(`text ${i}`)));
      const metrics = await (await fetch(running.url('/metrics'))).text();
      expect(metrics).toContain('nv_inference_request_success{model="online_embedder_ensemble",version="1"} 12');
      expect(metrics).toContain('nv_inference_exec_count{model="online_embedder_ensemble",version="1"} 1');
    }));

  it('says in order who did not fit in the queue', () =>
    withEngine({ synthetic: { dims: DIMS, batchMs: 100 }, queue: { maxQueueSize: 2 } }, async (running) => {
      const { stream, seen, ended } = open(running);
      for (const id of ['q0', 'q1', 'q2', 'q3']) stream.write(message(id, Array(32).fill(id)));
      stream.end();
      await ended;
      expect(seen.map(({ id, error }) => `${id} ${error}`.trim())).toEqual([
        'q0',
        'q1',
        'q2',
        "q3 in ensemble 'online_embedder_ensemble', [request id: q3] Exceeds maximum queue size",
      ]);
    }));

  it("honours a request's timeout in the queue", () =>
    withEngine({ synthetic: { dims: DIMS, batchMs: 100 } }, async (running) => {
      const { stream, seen, ended } = open(running);
      stream.write(message('runs', Array(32).fill('x')));
      stream.write(message('hasty', ['x'], 'online_embedder_ensemble', 10_000));
      stream.end();
      await ended;
      expect(seen[1]).toMatchObject({
        id: 'hasty',
        error: "in ensemble 'online_embedder_ensemble', Request timeout expired",
      });
    }));

  it('withdraws what still waits when the stream is cancelled', () =>
    withEngine({ synthetic: { dims: DIMS, batchMs: 200 } }, async (running) => {
      const { stream, ended } = open(running);
      for (let i = 0; i < 3; i++) stream.write(message(`${i}`, Array(32).fill('x')));
      await new Promise((resolve) => setTimeout(resolve, 100));
      stream.cancel();
      await ended;
      const canceled = 'nv_inference_request_failure{model="online_embedder_ensemble",reason="CANCELED",version="1"} 2';
      await expect.poll(async () => (await fetch(running.url('/metrics'))).text()).toContain(canceled);
    }));

  it('ends with an error, after its last answers, when the engine stops', async () => {
    const running = await runEngine({ synthetic: { dims: DIMS, batchMs: 100 } });
    const { stream, seen, ended } = open(running);
    stream.write(message('last', ['x']));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const stopped = running.stop();
    expect(await ended).toBe('the server is stopping');
    expect(seen.map(({ id }) => id)).toEqual(['last']);
    await stopped;
  });
});
