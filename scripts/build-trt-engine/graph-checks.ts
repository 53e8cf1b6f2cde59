/** Whether a graph is one that an engine of this pool can be built from. Every fault is told, with the value that is at fault. Pure. */

import type { EmbeddingTables } from '../export-onnx/graph/embedding-tables.ts';
import { elementType } from '../export-onnx/graph/inputs.ts';
import type { ValueType } from '../export-onnx/graph/value-types.ts';
import { ANSWER, ENCODER_INPUTS, type EncoderInput } from '../model-config/tensor-contract.ts';
import {
  TensorProto_DataType as DataType,
  type GraphProto,
  type ModelProto,
  type ValueInfoProto,
} from '../onnx/gen/onnx_pb.ts';
import type { Pool } from '../pools.ts';
import { precisionFaults } from './precision.ts';
import type { Precision } from './trtexec-command.ts';

export type Wanted = {
  readonly pool: Pool;
  readonly maxTokens: number;
  readonly precision: Precision;
};

const STANDARD = new Set(['', 'ai.onnx']);
/** Operators of quantised models that TensorRT's ONNX parser does not know. */
const NOT_PARSED = new Set([
  ...['DynamicQuantizeLinear', 'MatMulInteger', 'ConvInteger', 'QLinearMatMul', 'QLinearConv'],
]);

/** What the exporter wrote about the model, without its prefix. */
export function propertiesOf(model: ModelProto): Record<string, string> {
  const prefix = 'rag_serving.';
  const ours = model.metadataProps.filter(({ key }) => key.startsWith(prefix));
  return Object.fromEntries(ours.map(({ key, value }) => [key.slice(prefix.length), value]));
}

/** The inputs that the graph has, of those that a tokenizer can feed. */
export function inputsOf(graph: GraphProto): EncoderInput[] {
  return ENCODER_INPUTS.filter((known) => graph.input.some(({ name }) => name === known));
}

export function graphFaults(
  model: ModelProto,
  types: ReadonlyMap<string, ValueType>,
  tables: EmbeddingTables,
  wanted: Wanted,
): string[] {
  const graph = model.graph!;
  return [
    ...originFaults(propertiesOf(model), wanted.precision),
    ...inputFaults(graph),
    ...outputFaults(graph, wanted.pool),
    ...lengthFaults(tables, wanted),
    ...operatorFaults(graph),
    ...precisionFaults(graph, types, wanted.precision),
  ];
}

function originFaults({ model, compute }: Readonly<Record<string, string>>, precision: Precision): string[] {
  if (model === undefined) {
    return [
      'it has no metadata rag_serving.model, so nobody could tell its vectors from those of another model: export it with export-onnx',
    ];
  }
  if (precision === 'fp16' && compute !== 'fp16') {
    return [
      `its metadata says rag_serving.compute "${compute ?? ''}", not "fp16": export it with export-onnx --fp16, or give --precision fp32`,
    ];
  }
  return [];
}

function inputFaults(graph: GraphProto): string[] {
  const missing = (['input_ids', 'attention_mask'] as const).filter(
    (name) => !graph.input.some((input) => input.name === name),
  );
  return [
    ...missing.map((name) => `it has no input ${name}`),
    ...graph.input.flatMap((input) => {
      const { name } = input;
      if (!(ENCODER_INPUTS as readonly string[]).includes(name))
        return [`input ${name} is none of ${ENCODER_INPUTS.join(', ')}`];
      const type = elementType(input);
      const { sizes, described } = shapeOf(input);
      return [
        ...(type === DataType.INT64 ? [] : [`input ${name} is ${typeName(type)}, not INT64`]),
        ...(sizes.length === 2 && sizes.every((size) => size === undefined)
          ? []
          : [`input ${name} has the shape ${described}, not [batch, sequence] with both dynamic`]),
      ];
    }),
  ];
}

function outputFaults(graph: GraphProto, { profile, modelType }: Pool): string[] {
  const wanted = ANSWER[modelType];
  const names = graph.output.map(({ name }) => name);
  const output = graph.output.find(({ name }) => name === wanted);
  if (output === undefined || names.length !== 1) {
    return [
      `profile ${profile} serves the one output ${wanted} (export-onnx --model-type ${modelType}), and it has ${names.join(', ') || 'none'}`,
    ];
  }
  const type = elementType(output);
  const { sizes, described } = shapeOf(output);
  const typed = type === DataType.FLOAT || (type === DataType.FLOAT16 && modelType === 'embedding');
  const [batch, width] = sizes;
  const shaped =
    sizes.length === 2 && batch === undefined && width !== undefined && (modelType === 'embedding' || width === 1n);
  return [
    ...(typed ? [] : [`output ${wanted} is ${typeName(type)}`]),
    ...(shaped
      ? []
      : [
          `output ${wanted} has the shape ${described}, not [batch, ${modelType === 'embedding' ? 'dims as a number' : '1'}]`,
        ]),
  ];
}

function lengthFaults({ positions }: EmbeddingTables, { pool, maxTokens }: Wanted): string[] {
  if (positions === undefined || positions >= maxTokens) return [];
  return [
    `it has ${positions} positions, and profile ${pool.profile} is for ${maxTokens} tokens: take a model with a longer window, or give --max-tokens ${positions} and the tokenizer the same length`,
  ];
}

function operatorFaults(graph: GraphProto): string[] {
  const foreign = graph.node.filter(({ domain }) => !STANDARD.has(domain));
  const quantised = graph.node.filter(({ opType, domain }) => STANDARD.has(domain) && NOT_PARSED.has(opType));
  const kinds = (nodes: typeof foreign) =>
    [...new Set(nodes.map(({ domain, opType }) => [domain, opType].filter(Boolean).join('.')))].join(', ');
  return [
    ...(foreign.length === 0
      ? []
      : [
          `${kinds(foreign)} is no operator of ONNX itself, and TensorRT does not know it: export the model without optimisation for another runtime`,
        ]),
    ...(quantised.length === 0
      ? []
      : [
          `${kinds(quantised)} is not known to TensorRT: take the model's file that is not quantised (export-onnx --onnx-file)`,
        ]),
  ];
}

function typeName(type: DataType): string {
  return Object.entries(DataType).find(([, value]) => value === type)?.[0] ?? `of type ${type}`;
}

function shapeOf({ type }: ValueInfoProto): {
  readonly sizes: readonly (bigint | undefined)[];
  readonly described: string;
} {
  const dims = type?.value.case === 'tensorType' ? (type.value.value.shape?.dim ?? []) : [];
  return {
    sizes: dims.map(({ value }) => (value.case === 'dimValue' ? value.value : undefined)),
    described: `[${dims.map(({ value }) => value.value ?? '?').join(', ')}]`,
  };
}
