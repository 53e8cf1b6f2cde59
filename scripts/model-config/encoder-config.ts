/**
 * Configuration of an encoder: ids, mask and types INT64 [-1, tokens] in, vectors or scores out.
 *
 * Warm-up runs the shapes that the pool will see before the model counts as ready: the first request would otherwise pay for
 * choosing kernels, and memory that does not suffice for the largest batch would show in the middle of the night.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { DataType, ModelWarmup_InputSchema, type ModelWarmupSchema } from '../../src/kserve/gen/model_config_pb.ts';
import type { Pool } from '../pools.ts';
import { contractParameters, type ModelIdentity } from './identity.ts';
import {
  batching,
  type ConfigInit,
  instances,
  type NotedConfig,
  type Placement,
  parameters,
  type Queue,
  SERVED,
  tokenTensor,
} from './parts.ts';
import { ANSWER } from './tensor-contract.ts';

export const runtimes = ['trt', 'onnx', 'python'] as const;
export type Runtime = (typeof runtimes)[number];

export type EncoderSettings = {
  readonly pool: Pool;
  readonly runtime: Runtime;
  readonly identity: ModelIdentity;
  /** Inputs of the graph: input_ids, attention_mask and, where the model has it, token_type_ids. */
  readonly inputs: readonly string[];
  readonly maxTokens: number;
  readonly placement: Placement;
  readonly queue: Queue;
  /** Rows and tokens of CUDA graphs to capture, with TensorRT. */
  readonly cudaGraphs: readonly Shape[];
};

export type Shape = { readonly batch: number; readonly tokens: number };

/** Backend of a runtime, and its file in a version's folder. */
export const ENGINES = {
  trt: { backend: 'tensorrt', file: 'model.plan' },
  onnx: { backend: 'onnxruntime', file: 'model.onnx' },
  python: { backend: 'python', file: 'model.py' },
} as const satisfies Record<Runtime, { backend: string; file: string }>;

export function encoderConfig(settings: EncoderSettings): NotedConfig {
  const { pool, runtime, identity, inputs, maxTokens } = settings;
  const { backend, file } = ENGINES[runtime];
  const dataType = identity.dtype === 'FP16' ? DataType.TYPE_FP16 : DataType.TYPE_FP32;
  const config: ConfigInit = {
    name: pool.encoder,
    backend,
    ...(runtime !== 'python' && { defaultModelFilename: file }),
    ...SERVED,
    maxBatchSize: pool.maxBatch,
    input: inputs.map(tokenTensor),
    output: [{ name: ANSWER[pool.modelType], dataType, dims: [BigInt(identity.dims)] }],
    schedulingChoice: batching(settings.queue)!,
    instanceGroup: instances(settings.placement)!,
    optimization: optimization(settings)!,
    modelWarmup: warmShapes(settings).map((shape) => warmup(shape, inputs)),
    parameters: parameters(contractParameters(identity, maxTokens))!,
  };
  const what = pool.modelType === 'embedding' ? 'Tokens of a text to its vector' : 'Tokens of a pair to its score';
  return { config, notes: { header: [`${what}, ${RUNS[runtime]}.`], fields: comments(settings) } };
}

const RUNS = {
  trt: 'by TensorRT',
  onnx: 'by onnxruntime',
  python: 'by onnxruntime in the python backend, on a CPU under the GPU name',
} as const satisfies Record<Runtime, string>;

function comments({ runtime, pool }: EncoderSettings): Record<string, string[]> {
  return {
    dynamic_batching: [
      `Up to ${pool.maxBatch} rows of one length. The queue is here and not on the ensemble, where Triton has none.`,
    ],
    model_warmup: ['Run before the model counts as ready: token 0, which every vocabulary has, behind a mask of 0.'],
    ...(runtime === 'trt' && {
      optimization: [
        'A CUDA graph serves one shape only, and rows are as long as their texts: none is captured by default.',
      ],
    }),
    ...(runtime === 'onnx' && {
      optimization: ['Basic and extended fusions. No accelerator: TensorRT is a runtime of its own.'],
    }),
  };
}

/**
 * Triton can use a CUDA graph for smaller shapes too (graph_lower_bound), but leaves what is behind the request's rows as it
 * was in memory. A mask read from there would let padding into the vector, so no lower bound is ever written.
 */
function optimization({ runtime, pool, cudaGraphs, inputs }: EncoderSettings): ConfigInit['optimization'] {
  if (runtime === 'python') return undefined;
  if (runtime === 'onnx') return { graph: { level: 1 } };
  const graphSpec = cudaGraphs.map(({ batch, tokens }) => ({
    batchSize: batch,
    input: Object.fromEntries(inputs.map((name) => [name, { dim: [BigInt(tokens)] }])),
  }));
  return {
    cuda: {
      graphs: graphSpec.length > 0,
      graphSpec,
      // A millisecond matters online, and costs a CPU core; in the batch pool it does not matter.
      busyWaitEvents: pool.repository !== 'batch_ingestion',
      outputCopyStream: true,
    },
  };
}

function warmShapes({ pool, runtime, maxTokens }: EncoderSettings): Shape[] {
  const tokens = Math.min(pool.usual.tokens, maxTokens);
  const one = { batch: 1, tokens };
  // On a CPU the largest batch takes a minute, and there is nothing to choose or to claim.
  if (runtime === 'python') return [one];
  return [one, { batch: pool.usual.batch, tokens }, { batch: pool.maxBatch, tokens: maxTokens }];
}

function warmup({ batch, tokens }: Shape, inputs: readonly string[]): MessageInitShape<typeof ModelWarmupSchema> {
  const input = create(ModelWarmup_InputSchema, {
    ...{ dataType: DataType.TYPE_INT64, dims: [BigInt(tokens)] },
    inputDataType: { case: 'zeroData', value: true },
  });
  return {
    name: `${batch} x ${tokens}`,
    batchSize: batch,
    inputs: Object.fromEntries(inputs.map((name) => [name, input])),
  };
}
