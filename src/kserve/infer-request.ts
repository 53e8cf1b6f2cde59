/**
 * InferRequest as the bytes of its protobuf message (ModelInferRequest of proto/grpc_service.proto).
 *
 * A tensor in shared memory has no entry in `raw_input_contents`: that list holds the inline tensors only, in order.
 * Sizes are checked, so that a wrong tensor fails here and not as a fault of the model. Written by hand, because this is
 * the greatest part of what a query costs its client: see docs/decisions/online.md.
 */
import type { InferRequest, InputTensor, OutputRequest, RegionRange } from './tensor.ts';
import { checkByteSize, checkRawSize, REGION_PARAMETERS } from './tensor-layout.ts';
import { varintLength, WireWriter } from './wire-writer.ts';

const REQUEST = { modelName: 1, modelVersion: 2, id: 3, parameters: 4, inputs: 5, outputs: 6, rawInputContents: 7 };
const INPUT = { name: 1, datatype: 2, shape: 3, parameters: 4 };
const OUTPUT = { name: 1, parameters: 2 };
const MAP_ENTRY = { key: 1, value: 2 };
const PARAMETER = { int64: 2, string: 3 };

// One for all: a message is written in one go.
const head = new WireWriter();

/** @param id instead of the request's own. Throws ARGUMENT_INVALID when a tensor's size is not what its datatype and shape say. */
export function encodeInferRequest(request: InferRequest, id: string | undefined = request.id): Buffer {
  const { modelName, modelVersion, parameters, inputs, outputs } = request;
  head.restart();
  head.stringField(REQUEST.modelName, modelName);
  if (modelVersion) head.stringField(REQUEST.modelVersion, modelVersion);
  if (id) head.stringField(REQUEST.id, id);
  if (parameters !== undefined) {
    for (const [name, value] of Object.entries(parameters)) writeParameter(REQUEST.parameters, name, value);
  }
  let rawSize = 0;
  for (const tensor of inputs) {
    check(tensor);
    writeInput(tensor);
    if (tensor.data.kind === 'inline') rawSize += 1 + varintLength(tensor.data.bytes.length) + tensor.data.bytes.length;
  }
  for (const output of outputs) writeOutput(output);
  return withRawContents(inputs, rawSize);
}

function withRawContents(inputs: readonly InputTensor[], rawSize: number): Buffer {
  const message = Buffer.allocUnsafe(head.length + rawSize);
  let at = head.copyTo(message, 0);
  for (const { data } of inputs) {
    if (data.kind !== 'inline') continue;
    head.restart();
    head.bytesHead(REQUEST.rawInputContents, data.bytes.length);
    at = head.copyTo(message, at);
    message.set(data.bytes, at);
    at += data.bytes.length;
  }
  return message;
}

function writeInput({ name, datatype, shape, data }: InputTensor): void {
  const start = head.open(REQUEST.inputs);
  head.stringField(INPUT.name, name);
  head.stringField(INPUT.datatype, datatype);
  head.packedField(INPUT.shape, shape);
  if (data.kind === 'region') writeRegion(INPUT.parameters, data.range);
  head.close(start);
}

function writeOutput({ name, region }: OutputRequest): void {
  const start = head.open(REQUEST.outputs);
  head.stringField(OUTPUT.name, name);
  if (region !== undefined) writeRegion(OUTPUT.parameters, region);
  head.close(start);
}

function writeRegion(field: number, { region, offset, byteSize }: RegionRange): void {
  const { name, size, start } = REGION_PARAMETERS;
  writeParameter(field, name, region);
  writeParameter(field, size, byteSize);
  if (offset !== 0) writeParameter(field, start, offset);
}

function writeParameter(field: number, name: string, value: string | number): void {
  const entry = head.open(field);
  head.stringField(MAP_ENTRY.key, name);
  const start = head.open(MAP_ENTRY.value);
  if (typeof value === 'string') head.stringField(PARAMETER.string, value);
  else head.varintField(PARAMETER.int64, value);
  head.close(start);
  head.close(entry);
}

function check({ name, datatype, shape, data }: InputTensor): void {
  if (data.kind === 'inline') checkRawSize(name, datatype, shape, data.bytes, 'ARGUMENT_INVALID');
  else checkByteSize(name, datatype, shape, data.range.byteSize, 'ARGUMENT_INVALID');
}
