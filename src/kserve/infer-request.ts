/**
 * InferRequest to and from its protobuf message.
 *
 * A tensor in shared memory has no entry in `raw_input_contents`: that list holds the inline tensors only, in order.
 * Sizes are checked on both ways, so that a wrong tensor fails here and not as a fault of the model.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { ServingError } from '../errors.ts';
import { type Datatype, isDatatype } from './datatype.ts';
import {
  type InferParameter,
  InferParameterSchema,
  type ModelInferRequest,
  type ModelInferRequest_InferInputTensor,
  type ModelInferRequest_InferInputTensorSchema,
  ModelInferRequestSchema,
} from './gen/grpc_service_pb.ts';
import type { InferRequest, InputTensor, OutputRequest, TensorData } from './tensor.ts';
import {
  checkByteSize,
  checkRawSize,
  fromInt64Shape,
  hasRegion,
  readRegion,
  regionParameters,
  toInt64Shape,
} from './tensor-layout.ts';
import { typedToRaw } from './typed-contents.ts';

/** Throws ARGUMENT_INVALID when a tensor's size is not what its datatype and shape say. */
export function encodeInferRequest(request: InferRequest): ModelInferRequest {
  const rawInputContents: Uint8Array[] = [];
  const inputs = request.inputs.map((input): MessageInitShape<typeof ModelInferRequest_InferInputTensorSchema> => {
    const { name, datatype, shape, data } = checked(input);
    const tensor = { name, datatype, shape: toInt64Shape(shape) };
    if (data.kind === 'region') return { ...tensor, parameters: regionParameters(data.range) };
    rawInputContents.push(data.bytes);
    return tensor;
  });
  return create(ModelInferRequestSchema, {
    modelName: request.modelName,
    modelVersion: request.modelVersion ?? '',
    id: request.id ?? '',
    inputs,
    outputs: request.outputs.map(({ name, region }) =>
      region === undefined ? { name } : { name, parameters: regionParameters(region) },
    ),
    rawInputContents,
    ...(request.parameters === undefined ? {} : { parameters: stringParameters(request.parameters) }),
  });
}

/** What a server reads. Typed contents become raw bytes. Throws ARGUMENT_INVALID that names the tensor. */
export function decodeInferRequest(message: ModelInferRequest): InferRequest {
  const inline = message.inputs.filter((input) => !hasRegion(input.parameters));
  const raw = message.rawInputContents;
  if (raw.length > 0 && raw.length !== inline.length) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `raw_input_contents has ${raw.length} entries for ${inline.length} inputs that are not in shared memory`,
    );
  }
  let next = 0;
  const inputs = message.inputs.map((input): InputTensor => {
    const { name } = input;
    const datatype = datatypeOf(input);
    const shape = fromInt64Shape(input.shape);
    const range = readRegion(name, input.parameters, 'ARGUMENT_INVALID');
    const data: TensorData =
      range !== undefined
        ? { kind: 'region', range }
        : { kind: 'inline', bytes: inlineBytes(input, datatype, shape, raw[next++]) };
    return checked({ name, datatype, shape, data });
  });
  return {
    modelName: message.modelName,
    ...(message.modelVersion === '' ? {} : { modelVersion: message.modelVersion }),
    ...(message.id === '' ? {} : { id: message.id }),
    inputs,
    outputs: message.outputs.map(({ name, parameters }): OutputRequest => {
      const region = readRegion(name, parameters, 'ARGUMENT_INVALID');
      return region === undefined ? { name } : { name, region };
    }),
  };
}

function stringParameters(parameters: Readonly<Record<string, string>>): Record<string, InferParameter> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      create(InferParameterSchema, { parameterChoice: { case: 'stringParam', value } }),
    ]),
  );
}

function checked(input: InputTensor): InputTensor {
  const { name, datatype, shape, data } = input;
  if (data.kind === 'inline') checkRawSize(name, datatype, shape, data.bytes, 'ARGUMENT_INVALID');
  else checkByteSize(name, datatype, shape, data.range.byteSize, 'ARGUMENT_INVALID');
  return input;
}

function datatypeOf({ name, datatype }: ModelInferRequest_InferInputTensor): Datatype {
  if (isDatatype(datatype)) return datatype;
  throw new ServingError('ARGUMENT_INVALID', `input ${name} has an unknown datatype (${datatype.length} characters)`);
}

function inlineBytes(
  input: ModelInferRequest_InferInputTensor,
  datatype: Datatype,
  shape: readonly number[],
  raw: Uint8Array | undefined,
): Uint8Array {
  if (raw !== undefined && input.contents === undefined) return raw;
  if (raw === undefined && input.contents !== undefined) {
    return typedToRaw(input.name, datatype, shape, input.contents, 'ARGUMENT_INVALID');
  }
  const what = raw === undefined ? 'has neither raw nor typed contents' : 'has raw and typed contents at once';
  throw new ServingError('ARGUMENT_INVALID', `input ${input.name} ${what}`);
}
