/** Inputs and outputs of an ONNX model, in Triton's terms. */
import { DataType } from '../../src/kserve/gen/model_config_pb.ts';
import { TensorProto_DataType as Element, type ModelProto, type ValueInfoProto } from '../onnx/gen/onnx_pb.ts';

export type GraphTensor = {
  readonly name: string;
  /** TYPE_INVALID for an element type that is none of the pipeline's. */
  readonly dataType: DataType;
  /** With the batch's dimension; -1 where the size is known at run time only. */
  readonly dims: readonly number[];
};

const TYPES: Partial<Record<Element, DataType>> = {
  [Element.STRING]: DataType.TYPE_STRING,
  [Element.INT64]: DataType.TYPE_INT64,
  [Element.INT32]: DataType.TYPE_INT32,
  [Element.FLOAT16]: DataType.TYPE_FP16,
  [Element.FLOAT]: DataType.TYPE_FP32,
};

export type GraphTensors = { readonly inputs: readonly GraphTensor[]; readonly outputs: readonly GraphTensor[] };

export function graphTensors({ graph }: ModelProto): GraphTensors {
  const constants = new Set(graph!.initializer.map(({ name }) => name));
  return {
    inputs: graph!.input.filter(({ name }) => !constants.has(name)).map(tensor),
    outputs: graph!.output.map(tensor),
  };
}

function tensor({ name, type }: ValueInfoProto): GraphTensor {
  const { elemType = 0, shape } = type?.value.case === 'tensorType' ? type.value.value : {};
  const dims = (shape?.dim ?? []).map(({ value }) => (value.case === 'dimValue' ? Number(value.value) : -1));
  return { name, dataType: TYPES[elemType as Element] ?? DataType.TYPE_INVALID, dims };
}
