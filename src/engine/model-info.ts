/** What the engine says about its models: metadata, config and statistics as protocol messages. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ModelMetadataResponse,
  ModelMetadataResponseSchema,
  ModelStatisticsSchema,
  type ModelStatistics as StatisticsMessage,
} from '../kserve/gen/grpc_service_pb.ts';
import { DataType, type ModelConfig, ModelConfigSchema } from '../kserve/gen/model_config_pb.ts';
import type { ModelRunner } from './model-runner.ts';
import type { ModelSpec } from './model-spec.ts';
import type { Tally } from './statistics.ts';

export function modelMetadata(spec: ModelSpec): ModelMetadataResponse {
  return create(ModelMetadataResponseSchema, {
    name: spec.name,
    versions: [spec.version],
    platform: spec.platform,
    inputs: spec.inputs.map((name) => ({ name, datatype: 'BYTES', shape: [-1n, 1n] })),
    outputs: [{ name: spec.output.name, datatype: spec.output.datatype, shape: [-1n, BigInt(spec.output.dims)] }],
  });
}

export function modelConfig(spec: ModelSpec): ModelConfig {
  const { name, datatype, dims } = spec.output;
  const { maxBatch, maxDelayUs, maxQueueSize, defaultTimeoutUs } = spec.queue;
  return create(ModelConfigSchema, {
    name: spec.name,
    platform: spec.platform,
    versionPolicy: { policyChoice: { case: 'latest', value: { numVersions: 1 } } },
    maxBatchSize: maxBatch,
    input: spec.inputs.map((input) => ({ name: input, dataType: DataType.TYPE_STRING, dims: [1n] })),
    output: [{ name, dataType: datatype === 'FP16' ? DataType.TYPE_FP16 : DataType.TYPE_FP32, dims: [BigInt(dims)] }],
    parameters: Object.fromEntries(
      Object.entries(spec.parameters).map(([key, value]) => [key, { stringValue: value }]),
    ),
    schedulingChoice: {
      case: 'dynamicBatching',
      value: {
        maxQueueDelayMicroseconds: BigInt(maxDelayUs),
        defaultQueuePolicy: {
          defaultTimeoutMicroseconds: BigInt(defaultTimeoutUs),
          allowTimeoutOverride: true,
          maxQueueSize,
        },
      },
    },
  });
}

export function modelStatistics({ spec, statistics }: ModelRunner): StatisticsMessage {
  const { success, fail, queue, computeInput, computeInfer, computeOutput } = statistics;
  return create(ModelStatisticsSchema, {
    name: spec.name,
    version: spec.version,
    lastInference: BigInt(Math.round(statistics.lastInferenceMs)),
    inferenceCount: BigInt(statistics.inferences),
    executionCount: BigInt(statistics.executions),
    inferenceStats: {
      success: duration(success),
      fail: duration(fail),
      queue: duration(queue),
      computeInput: duration(computeInput),
      computeInfer: duration(computeInfer),
      computeOutput: duration(computeOutput),
    },
    batchStats: [...statistics.batches].map(([rows, { executions, inferNs }]) => ({
      batchSize: BigInt(rows),
      computeInfer: duration({ count: executions, ns: inferNs }),
    })),
  } satisfies MessageInitShape<typeof ModelStatisticsSchema>);
}

function duration({ count, ns }: Tally): { count: bigint; ns: bigint } {
  return { count: BigInt(count), ns: BigInt(ns) };
}
