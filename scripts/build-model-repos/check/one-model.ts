/** What can be wrong with a configuration by itself, though every field is one of the schema. */
import {
  DataType,
  ModelInstanceGroup_Kind as Kind,
  type ModelConfig,
} from '../../../src/kserve/gen/model_config_pb.ts';
import { typeName } from '../../model-config/data-types.ts';

/** Model files by backend; an ensemble has none. */
const FILES: Readonly<Record<string, string>> = {
  tensorrt: 'model.plan',
  onnxruntime: 'model.onnx',
  python: 'model.py',
};
const PLATFORMS: Readonly<Record<string, string>> = { tensorrt_plan: 'tensorrt', onnxruntime_onnx: 'onnxruntime' };

export function backendOf({ backend, platform }: ModelConfig): string {
  return backend || PLATFORMS[platform] || platform;
}

/** Name of the model's file in a version's folder; undefined of an ensemble. */
export function modelFileOf(config: ModelConfig): string | undefined {
  return isEnsemble(config) ? undefined : config.defaultModelFilename || FILES[backendOf(config)];
}

export function isEnsemble({ schedulingChoice, platform }: ModelConfig): boolean {
  return schedulingChoice.case === 'ensembleScheduling' || platform === 'ensemble';
}

export function parameterOf(config: ModelConfig, name: string): string | undefined {
  return config.parameters[name]?.stringValue;
}

export function oneModelProblems(folder: string, config: ModelConfig): string[] {
  return [
    ...(config.name === folder ? [] : [`name is "${config.name}", and the folder is ${folder}`]),
    ...tensorProblems(config),
    ...(isEnsemble(config) ? ensembleOnly(config) : runProblems(config)),
  ];
}

function tensorProblems({ input, output }: ModelConfig): string[] {
  return [...sideProblems('input', input), ...sideProblems('output', output)];
}

function sideProblems(
  side: 'input' | 'output',
  tensors: readonly { readonly name: string; readonly dataType: DataType; readonly dims: readonly bigint[] }[],
): string[] {
  const names = tensors.map(({ name }) => name);
  return [
    ...(tensors.length === 0 ? [`there is no ${side}`] : []),
    ...names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${side} ${name} stands twice`),
    ...tensors.flatMap(({ name, dataType, dims }) => [
      ...(dataType === DataType.TYPE_INVALID ? [`${side} ${name} has no data_type`] : []),
      ...(dims.length === 0 ? [`${side} ${name} has no dims`] : []),
      ...(dims.some((size) => size === 0n || size < -1n)
        ? [`${side} ${name} has dims that are neither -1 nor a size`]
        : []),
    ]),
  ];
}

function ensembleOnly(config: ModelConfig): string[] {
  return [
    ...(config.platform === 'ensemble' ? [] : ['it has ensemble_scheduling, so platform must be "ensemble"']),
    ...(config.schedulingChoice.case === 'ensembleScheduling'
      ? []
      : ['platform is "ensemble", and ensemble_scheduling is missing']),
    ...(config.instanceGroup.length === 0 ? [] : ['an ensemble has no instance_group: its models have']),
  ];
}

function runProblems(config: ModelConfig): string[] {
  return [
    ...(FILES[backendOf(config)] === undefined
      ? [`backend "${backendOf(config)}" is none of ${Object.keys(FILES).join(', ')}`]
      : []),
    ...batchingProblems(config),
    ...config.instanceGroup.flatMap(({ kind, gpus }) =>
      kind === Kind.CPU && gpus.length > 0 ? ['instance_group is KIND_CPU and names gpus'] : [],
    ),
    ...config.modelWarmup.flatMap((warmup) => warmupProblems(config, warmup)),
  ];
}

function batchingProblems({ schedulingChoice, maxBatchSize }: ModelConfig): string[] {
  if (schedulingChoice.case !== 'dynamicBatching') {
    return ['there is no dynamic_batching: without it Triton has no queue limit and no timeout'];
  }
  const { preferredBatchSize, defaultQueuePolicy: queue } = schedulingChoice.value;
  const beyond = preferredBatchSize.filter((size) => size < 1 || size > maxBatchSize);
  return [
    ...(maxBatchSize > 0 ? [] : ['dynamic_batching needs a max_batch_size']),
    ...beyond.map((size) => `preferred_batch_size ${size} is not from 1 to max_batch_size ${maxBatchSize}`),
    ...((queue?.maxQueueSize ?? 0) > 0 ? [] : ['max_queue_size is not set: the queue would grow without bound']),
    ...((queue?.defaultTimeoutMicroseconds ?? 0n) > 0n
      ? []
      : ['default_timeout_microseconds is not set: requests would wait for ever']),
  ];
}

function warmupProblems(
  config: ModelConfig,
  { name, batchSize, inputs }: ModelConfig['modelWarmup'][number],
): string[] {
  const wanted = new Map(config.input.map((input) => [input.name, input]));
  return [
    ...(batchSize >= 1 && batchSize <= config.maxBatchSize
      ? []
      : [`warm-up ${name}: batch_size ${batchSize} is not from 1 to ${config.maxBatchSize}`]),
    ...[...wanted.keys()]
      .filter((input) => inputs[input] === undefined)
      .map((input) => `warm-up ${name}: input ${input} is missing`),
    ...Object.entries(inputs).flatMap(([input, { dataType, dims }]) => {
      const declared = wanted.get(input);
      if (declared === undefined) return [`warm-up ${name}: ${input} is no input of the model`];
      return [
        ...(declared.dataType === dataType
          ? []
          : [`warm-up ${name}: ${input} is ${typeName(dataType)}, and the input ${typeName(declared.dataType)}`]),
        ...(dims.length === declared.dims.length && dims.every((size) => size > 0n)
          ? []
          : [`warm-up ${name}: ${input} has dims [${dims.join(', ')}], which are no shape of the input`]),
      ];
    }),
  ];
}
