/** Attributes of a node. A number does not say whether it is an INT or a FLOAT of ONNX, so each kind has its own function. */
import { create } from '@bufbuild/protobuf';
import {
  type AttributeProto,
  AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  type GraphProto,
  type TensorProto,
} from './gen/onnx_pb.ts';

/** The value of an attribute, still without its name. */
export type AttributeValue = (name: string) => AttributeProto;

const bytes = (text: string) => new TextEncoder().encode(text);

export const int =
  (value: number): AttributeValue =>
  (name) =>
    create(AttributeProtoSchema, { name, type: AttributeType.INT, i: BigInt(value) });

export const ints =
  (values: readonly number[]): AttributeValue =>
  (name) =>
    create(AttributeProtoSchema, { name, type: AttributeType.INTS, ints: values.map((value) => BigInt(value)) });

export const float =
  (value: number): AttributeValue =>
  (name) =>
    create(AttributeProtoSchema, { name, type: AttributeType.FLOAT, f: value });

export const text =
  (value: string): AttributeValue =>
  (name) =>
    create(AttributeProtoSchema, { name, type: AttributeType.STRING, s: bytes(value) });

export const texts =
  (values: readonly string[]): AttributeValue =>
  (name) =>
    create(AttributeProtoSchema, { name, type: AttributeType.STRINGS, strings: values.map(bytes) });

export const graph =
  (value: GraphProto): AttributeValue =>
  (name) =>
    create(AttributeProtoSchema, { name, type: AttributeType.GRAPH, g: value });

export const tensor =
  (value: TensorProto): AttributeValue =>
  (name) =>
    create(AttributeProtoSchema, { name, type: AttributeType.TENSOR, t: value });
