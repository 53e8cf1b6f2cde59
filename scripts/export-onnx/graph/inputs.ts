/**
 * The inputs of the exported graph: input_ids, attention_mask and, where the model has it, token_type_ids; each int64
 * [batch, sequence]. Exporters call them otherwise now and then, or take int32; a Cast at the front bridges that.
 */
import { ServingError } from '../../../src/errors.ts';
import type { EncoderInput } from '../../model-config/tensor-contract.ts';
import * as attribute from '../../onnx/attributes.ts';
import { TensorProto_DataType as DataType, type GraphProto, type ValueInfoProto } from '../../onnx/gen/onnx_pb.ts';
import { GraphBuilder, valueInfo } from '../../onnx/graph-builder.ts';

/** Other names that are in use for each. */
const ALIASES: Readonly<Record<EncoderInput, readonly string[]>> = {
  input_ids: ['input_ids', 'input_tokens', 'ids', 'token_ids'],
  attention_mask: ['attention_mask', 'input_mask', 'mask'],
  token_type_ids: ['token_type_ids', 'segment_ids', 'type_ids', 'input_type_ids'],
};
const INTEGERS: readonly number[] = [DataType.INT64, DataType.INT32];

export type ModelInput = { readonly name: EncoderInput; readonly original: string; readonly type: DataType };

/** Which input of the model is which. Throws ENGINE_MODEL_INVALID for one that a tokenizer cannot feed. */
export function matchInputs(graph: GraphProto): ModelInput[] {
  const found = graph.input.map((input) => ({ ...matchInput(input), type: elementType(input) }));
  for (const required of ['input_ids', 'attention_mask'] as const) {
    if (found.some(({ name }) => name === required)) continue;
    const names = graph.input.map(({ name }) => name).join(', ');
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `the model has no input ${required} (it has ${names || 'none'}): export it as a feature extractor or a sequence classifier`,
    );
  }
  return found;
}

function matchInput(input: ValueInfoProto): { name: EncoderInput; original: string } {
  const entry = Object.entries(ALIASES).find(([, aliases]) => aliases.includes(input.name));
  if (entry === undefined || !INTEGERS.includes(elementType(input))) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `input ${input.name} (element type ${elementType(input)}) is none of input_ids, attention_mask, token_type_ids as integers: export the model without it`,
    );
  }
  const fixed = dimensions(input).find((size) => size !== undefined);
  if (fixed !== undefined) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `input ${input.name} has a fixed size of ${fixed}: export the model with dynamic axes for batch and sequence`,
    );
  }
  return { name: entry[0] as EncoderInput, original: input.name };
}

/** Gives the graph the inputs that clients know. */
export function renameInputs(graph: GraphProto, inputs: readonly ModelInput[]): void {
  const front = new GraphBuilder('front');
  graph.input = inputs.map(({ name }) => valueInfo(name, DataType.INT64, ['batch', 'sequence']));
  for (const { name, original, type } of inputs) {
    if (name === original && type === DataType.INT64) continue;
    // The nodes go on reading a value of the old name; a new input of that very name makes way for it.
    const inner = name === original ? `${original}/as_given` : original;
    if (inner !== original) renameReads(graph, original, inner);
    front.node('Cast', [name], [inner], { attributes: { to: attribute.int(type) } });
  }
  graph.node.unshift(...front.graph.node);
}

function renameReads(graph: GraphProto, from: string, to: string): void {
  for (const node of graph.node) {
    node.input = node.input.map((name) => (name === from ? to : name));
    for (const { g, graphs } of node.attribute)
      for (const body of g ? [g, ...graphs] : graphs) renameReads(body, from, to);
  }
}

export function elementType({ type }: ValueInfoProto): DataType {
  const elemType = type?.value.case === 'tensorType' ? type.value.value.elemType : 0;
  return elemType as DataType;
}

function dimensions({ type }: ValueInfoProto): (bigint | undefined)[] {
  const shape = type?.value.case === 'tensorType' ? (type.value.value.shape?.dim ?? []) : [];
  return shape.map(({ value }) => (value.case === 'dimValue' ? value.value : undefined));
}
