import { create } from '@bufbuild/protobuf';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grpcDefinition } from '../../../src/engine/grpc-definition.ts';
import { syntheticScore, syntheticVector } from '../../../src/engine/synthetic.ts';
import {
  ModelStatisticsRequestSchema,
  type ModelStatisticsResponse,
  RepositoryModelLoadRequestSchema,
  RepositoryModelUnloadRequestSchema,
} from '../../../src/kserve/gen/grpc_service_pb.ts';
import {
  Health,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
} from '../../../src/kserve/gen/health_pb.ts';
import type { InferRequest } from '../../../src/kserve/tensor.ts';
import { detailsOf, embed, inlineOutput, type RunningEngine, rawCall, runEngine, texts } from './engine-fixture.ts';

const soon = { timeoutMs: 10_000 };
let running: RunningEngine;
beforeAll(async () => {
  running = await runEngine({ synthetic: { dims: 16 } });
});
afterAll(() => running.stop());

const vectors = (values: readonly string[]) =>
  Buffer.concat(values.map((text) => syntheticVector(Buffer.from(text), 16)));

describe('what the engine says of itself', () => {
  it('is live and ready, and each of its models is, by gRPC and by HTTP', async () => {
    const { client, url } = running;
    expect(await client.serverLive(soon)).toBe(true);
    expect(await client.serverReady(soon)).toBe(true);
    for (const name of ['batch_embedder_ensemble', 'online_embedder_ensemble', 'online_reranker_ensemble']) {
      expect(await client.modelReady(name, soon)).toBe(true);
      expect((await fetch(url(`/v2/models/${name}/ready`))).status).toBe(200);
    }
    expect(await client.modelReady('other', soon)).toBe(false);
    expect((await fetch(url('/v2/health/live'))).status).toBe(200);
    expect((await fetch(url('/v2/health/ready'))).status).toBe(200);
    expect((await fetch(url('/v2/models/other/ready'))).status).toBe(400);
    expect((await fetch(url('/other'))).status).toBe(404);
    expect((await fetch(url('/metrics'), { method: 'POST' })).status).toBe(405);
  });

  it('describes the tensors, the largest batch and the fingerprint of its models', async () => {
    const batch = await running.client.describeModel('batch_embedder_ensemble', soon);
    expect(batch).toMatchObject({
      inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [-1, 1] }],
      outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [-1, 16] }],
      maxBatchSize: 256,
      parameters: { fingerprint: 'synthetic-sha256/none/l2/FP16/16' },
    });
    const reranker = await running.client.describeModel('online_reranker_ensemble', soon);
    expect(reranker).toMatchObject({
      inputs: [
        { name: 'QUERY', datatype: 'BYTES', shape: [-1, 1] },
        { name: 'PASSAGE', datatype: 'BYTES', shape: [-1, 1] },
      ],
      outputs: [{ name: 'SCORE', datatype: 'FP32', shape: [-1, 1] }],
      maxBatchSize: 32,
    });
    expect(reranker.parameters.scored_by).toContain('cosine');
  });

  it('answers the standard health check, of the server and of its service only', async () => {
    const health = new (makeClientConstructor(grpcDefinition(Health), 'health'))(
      `127.0.0.1:${running.engine.ports.grpcPort}`,
      credentials.createInsecure(),
    );
    const check = (service: string) =>
      rawCall<HealthCheckResponse>({ ...running, raw: health }, 'check', create(HealthCheckRequestSchema, { service }));
    const { SERVING } = HealthCheckResponse_ServingStatus;
    expect((await check('')).status).toBe(SERVING);
    expect((await check('inference.GRPCInferenceService')).status).toBe(SERVING);
    await expect(check('other')).rejects.toThrow("unknown service 'other'");
    health.close();
  });

  it('counts what it did, per model', async () => {
    await inlineOutput(running.client, embed(['a', 'b', 'c'], 'online_embedder_ensemble'));
    await running.client.infer(embed(Array(33).fill('a'), 'online_embedder_ensemble'), soon).catch(() => {});
    const { modelStats } = await rawCall<ModelStatisticsResponse>(
      running,
      'modelStatistics',
      create(ModelStatisticsRequestSchema, { name: 'online_embedder_ensemble' }),
    );
    expect(modelStats).toMatchObject([
      {
        inferenceCount: 3n,
        executionCount: 1n,
        inferenceStats: { success: { count: 1n }, fail: { count: 1n }, computeInfer: { count: 1n } },
        batchStats: [{ batchSize: 3n, computeInfer: { count: 1n } }],
      },
    ]);
    const unknown = create(ModelStatisticsRequestSchema, { name: 'nope' });
    await expect(rawCall(running, 'modelStatistics', unknown)).rejects.toThrow(
      "requested model 'nope' is not available",
    );
  });
});

describe('inference', () => {
  it('answers each text with its own vector, odd ones and blank ones included (P04, P05)', async () => {
    const values = ['ok1', '', '   ', '\n\n\n', 'é', '🚀', 'a b', '你好', ''];
    expect(Buffer.from(await inlineOutput(running.client, embed(values)))).toEqual(vectors(values));
  });

  it('scores pairs', async () => {
    const request: InferRequest = {
      modelName: 'online_reranker_ensemble',
      inputs: [texts(['q', 'q'], 'QUERY'), texts(['q', 'other'], 'PASSAGE')],
      outputs: [{ name: 'SCORE' }],
    };
    const bytes = Buffer.from(await inlineOutput(running.client, request));
    const score = (query: string, passage: string) => syntheticScore(Buffer.from(query), Buffer.from(passage), 16);
    expect([bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([score('q', 'q'), score('q', 'other')]);
  });

  it('answers 200 requests at once, each with its own vectors', async () => {
    const requests = Array.from({ length: 200 }, (_, i) => Array.from({ length: 1 + (i % 9) }, (_, j) => `${i}/${j}`));
    const answers = await Promise.all(requests.map((values) => inlineOutput(running.client, embed(values))));
    answers.forEach((answer, i) => {
      expect(Buffer.from(answer)).toEqual(vectors(requests[i]!));
    });
  });

  it('takes a request of 6 MiB and gives an answer of 8 MiB (T13)', async () => {
    const wide = await runEngine({ synthetic: { dims: 16_384 } });
    const values = Array.from({ length: 256 }, (_, i) => `${i}`.padEnd(25_000, 'x'));
    expect((await inlineOutput(wide.client, embed(values))).byteLength).toBe(256 * 16_384 * 2);
    await wide.stop();
  });

  const refusals: { name: string; request: InferRequest; message: string }[] = [
    {
      name: 'an unknown model',
      request: embed(['a'], 'nope'),
      message: "Request for unknown model: 'nope' is not found",
    },
    {
      name: 'a batch over the largest (T12)',
      request: embed(Array(257).fill('a')),
      message: "[request id: <id_unknown>] inference request batch-size must be <= 256 for 'batch_embedder_ensemble'",
    },
    {
      name: 'a wrong input name',
      request: { ...embed([]), inputs: [texts(['a'], 'TXT')] },
      message: "unexpected inference input 'TXT' for model 'batch_embedder_ensemble'",
    },
    {
      name: 'a wrong output name',
      request: { ...embed(['a']), outputs: [{ name: 'NOPE' }] },
      message: "unexpected inference output 'NOPE' for model 'batch_embedder_ensemble'",
    },
    {
      name: 'a wrong datatype',
      request: {
        ...embed([]),
        inputs: [{ name: 'TEXT', datatype: 'FP32', shape: [1, 1], data: { kind: 'inline', bytes: new Uint8Array(4) } }],
      },
      message:
        "[request id: <id_unknown>] inference input 'TEXT' data-type is 'FP32', but model 'batch_embedder_ensemble' expects 'BYTES'",
    },
    {
      name: 'a wrong shape',
      request: { ...embed([]), id: 'r9', inputs: [{ ...texts(['a', 'b']), shape: [1, 2] }] },
      message:
        "[request id: r9] unexpected shape for input 'TEXT' for model 'batch_embedder_ensemble'. Expected [-1,1], got [1,2].",
    },
    {
      name: 'a missing input',
      request: { ...embed(['a'], 'online_reranker_ensemble'), inputs: [texts(['a'], 'QUERY')], outputs: [] },
      message:
        "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'online_reranker_ensemble'. Got input(s) ['QUERY'], but missing required input(s) ['PASSAGE'].",
    },
  ];
  for (const { name, request, message } of refusals) {
    it(`refuses ${name} in the words of Triton`, async () => {
      expect(await detailsOf(running.client.infer(request, soon))).toContain(message);
    });
  }
});

describe('an unloaded model', () => {
  it('is not ready and not found while the server is ready, and comes back (T18)', async () => {
    const { client } = running;
    const modelName = 'online_embedder_ensemble';
    await rawCall(running, 'repositoryModelUnload', create(RepositoryModelUnloadRequestSchema, { modelName }));
    expect(await client.serverReady(soon)).toBe(true);
    expect(await client.modelReady(modelName, soon)).toBe(false);
    expect(await detailsOf(client.infer(embed(['a'], modelName), soon))).toBe(
      `Request for unknown model: '${modelName}' has no available versions`,
    );
    expect(await detailsOf(client.infer({ ...embed(['a'], modelName), modelVersion: '1' }, soon))).toBe(
      `Request for unknown model: '${modelName}' version 1 is not at ready state`,
    );
    await rawCall(running, 'repositoryModelLoad', create(RepositoryModelLoadRequestSchema, { modelName }));
    expect(await client.modelReady(modelName, soon)).toBe(true);
  });

  it('that never was cannot be loaded', async () => {
    const request = create(RepositoryModelLoadRequestSchema, { modelName: 'nope' });
    await expect(rawCall(running, 'repositoryModelLoad', request)).rejects.toThrow("failed to load 'nope'");
  });
});
