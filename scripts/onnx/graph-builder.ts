/**
 * Builds a graph node by node, or adds nodes to the end of one that exists (`new GraphBuilder(model.graph)`).
 *
 * Each node names its outputs, so that a graph reads like its formula. Nodes are kept in the order they are added, which
 * must be an order they can run in: ONNX asks for it.
 */
import { create } from '@bufbuild/protobuf';
import type { AttributeValue } from './attributes.ts';
import {
  type GraphProto,
  GraphProtoSchema,
  NodeProtoSchema,
  type TensorProto,
  type TensorProto_DataType,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_SequenceSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from './gen/onnx_pb.ts';

export type NodeOptions = {
  /** Operator domain; the standard one when left out. */
  readonly domain?: string;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
};

/** A fixed size, or the name of one that is known at run time only. */
export type Dimension = number | string;

export class GraphBuilder {
  readonly graph: GraphProto;

  constructor(graph: GraphProto | string) {
    this.graph = typeof graph === 'string' ? create(GraphProtoSchema, { name: graph }) : graph;
  }

  /** Adds a node and gives the name of its first output. */
  node(opType: string, inputs: readonly string[], outputs: readonly string[], options: NodeOptions = {}): string {
    const attribute = Object.entries(options.attributes ?? {}).map(([name, value]) => value(name));
    this.graph.node.push(
      create(NodeProtoSchema, {
        opType,
        name: `${opType}_${outputs[0]}`,
        domain: options.domain ?? '',
        input: [...inputs],
        output: [...outputs],
        attribute,
      }),
    );
    return outputs[0]!;
  }

  /** Adds a constant and gives its name. */
  constant(value: TensorProto): string {
    this.graph.initializer.push(value);
    return value.name;
  }

  input(name: string, type: TensorProto_DataType, shape: readonly Dimension[]): void {
    this.graph.input.push(valueInfo(name, type, shape));
  }

  output(name: string, type: TensorProto_DataType, shape: readonly Dimension[]): void {
    this.graph.output.push(valueInfo(name, type, shape));
  }
}

export function valueInfo(name: string, type: TensorProto_DataType, shape: readonly Dimension[]): ValueInfoProto {
  const dim = shape.map((size) =>
    create(TensorShapeProto_DimensionSchema, {
      value: typeof size === 'number' ? { case: 'dimValue', value: BigInt(size) } : { case: 'dimParam', value: size },
    }),
  );
  const tensorType = create(TypeProto_TensorSchema, { elemType: type, shape: create(TensorShapeProtoSchema, { dim }) });
  return create(ValueInfoProtoSchema, {
    name,
    type: create(TypeProtoSchema, { value: { case: 'tensorType', value: tensorType } }),
  });
}

/** A sequence of tensors of any shape. */
export function sequenceInfo(name: string, type: TensorProto_DataType): ValueInfoProto {
  const tensorType = create(TypeProto_TensorSchema, { elemType: type });
  const elemType = create(TypeProtoSchema, { value: { case: 'tensorType', value: tensorType } });
  const sequence = create(TypeProto_SequenceSchema, { elemType });
  return create(ValueInfoProtoSchema, {
    name,
    type: create(TypeProtoSchema, { value: { case: 'sequenceType', value: sequence } }),
  });
}
