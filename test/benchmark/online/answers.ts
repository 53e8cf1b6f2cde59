/** What a real engine says of its models, byte for byte, for the benchmark's engine to say again after a set service time. */
import { Client, credentials } from '@grpc/grpc-js';
import { embedRequest } from '../../../online/embedder.ts';
import { rerankRequest } from '../../../online/reranker.ts';
import { embedderContract, rerankerContract } from '../../../src/kserve/model-contract.ts';
import type { InferRequest } from '../../../src/kserve/tensor.ts';
import { openTransport } from '../../contract/infer-transport.ts';

export const EMBEDDER = 'online_embedder_ensemble';
export const RERANKER = 'online_reranker_ensemble';

type Model = {
  readonly version: string;
  readonly output: string;
  readonly datatype: string;
  readonly width: number;
  readonly row: string;
  readonly serviceMs: number;
};

export type Answers = {
  readonly calls: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly models: Readonly<Record<string, Model>>;
};

export async function askFor(target: string, serviceMs: { embed: number; rerank: number }): Promise<Answers> {
  const raw = new Client(target, credentials.createInsecure());
  const client = openTransport(target, 'unary');
  const limits = { timeoutMs: 10_000 };
  try {
    const calls: Record<string, Record<string, string>> = {};
    for (const method of ['ModelReady', 'ModelMetadata', 'ModelConfig']) {
      calls[method] = {};
      for (const name of [EMBEDDER, RERANKER]) calls[method][name] = await rawAnswer(raw, method, name);
    }
    for (const method of ['ServerLive', 'ServerReady']) calls[method] = { '': await rawAnswer(raw, method, '') };
    const embedder = embedderContract(await client.describeModel(EMBEDDER, limits));
    const reranker = rerankerContract(await client.describeModel(RERANKER, limits));
    const modelOf = async (request: InferRequest, ms: number): Promise<Model> => {
      const { outputs, modelVersion } = await client.infer(request, limits);
      const [{ name, datatype, shape, data }] = outputs as [(typeof outputs)[number]];
      if (data.kind !== 'inline') throw new Error('an inline answer was expected');
      const row = Buffer.from(data.bytes).toString('base64');
      return { version: modelVersion, output: name, datatype, width: shape[1]!, row, serviceMs: ms };
    };
    return {
      calls,
      models: {
        [EMBEDDER]: await modelOf(embedRequest(embedder, ['a query']), serviceMs.embed),
        [RERANKER]: await modelOf(rerankRequest(reranker, 'a query', ['a passage']), serviceMs.rerank),
      },
    };
  } finally {
    raw.close();
    client.close();
  }
}

/** All these requests have the model's name as their first field, or no field at all. */
function rawAnswer(client: Client, method: string, modelName: string): Promise<string> {
  const name = Buffer.from(modelName);
  const request = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const pass = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(`/inference.GRPCInferenceService/${method}`, pass, pass, request, (error, answer) => {
      if (error === null) resolve(answer!.toString('base64'));
      else reject(error);
    });
  });
}
