/**
 * InferResponse from what a server answered, and to its protobuf message.
 *
 * Outputs are found by name: servers may answer in another order, or with outputs nobody asked for. How an answer says
 * that an output lies in shared memory differs: Triton gives it an empty entry in `raw_output_contents` and no parameters,
 * so that its size follows from its shape; others name region and size in parameters, with or without an entry.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { ServingError } from '../errors.ts';
import { type Datatype, isDatatype } from './datatype.ts';
import {
  type ModelInferResponse,
  type ModelInferResponse_InferOutputTensorSchema,
  ModelInferResponseSchema,
} from './gen/grpc_service_pb.ts';
import type { AnsweredOutput, InferAnswer } from './infer-answer.ts';
import type { InferRequest, InferResponse, OutputRequest, OutputTensor, RegionRange } from './tensor.ts';
import {
  checkByteSize,
  checkRawSize,
  fixedByteSize,
  hasRegion,
  readRegion,
  regionParameters,
  toInt64Shape,
} from './tensor-layout.ts';
import { typedToRaw } from './typed-contents.ts';

const FAULT = 'INFERENCE_RESPONSE_INVALID';

/** What a server answers: inline bytes in `raw_output_contents`, an empty entry for an output in shared memory, as Triton. */
export function encodeInferResponse(response: InferResponse): ModelInferResponse {
  return create(ModelInferResponseSchema, {
    modelName: response.modelName,
    modelVersion: response.modelVersion,
    id: response.id,
    outputs: response.outputs.map(
      ({ name, datatype, shape, data }): MessageInitShape<typeof ModelInferResponse_InferOutputTensorSchema> => ({
        name,
        datatype,
        shape: toInt64Shape(shape),
        ...(data.kind === 'region' ? { parameters: regionParameters(data.range) } : {}),
      }),
    ),
    rawOutputContents: response.outputs.map(({ data }) => (data.kind === 'inline' ? data.bytes : new Uint8Array(0))),
  });
}

/**
 * Reads the answer to `request`, sent with `id`: its outputs in the order asked for, or all of them when none was named. Bytes are views
 * into the message. Throws INFERENCE_RESPONSE_INVALID for a missing output, a row count other than the request's, a size
 * that is not datatype × shape, a region that was not asked for, or an answer to another request.
 */
export function decodeInferResponse(
  message: InferAnswer,
  request: InferRequest,
  id: string | undefined = request.id,
): InferResponse {
  if (id !== undefined && message.id !== '' && message.id !== id) {
    throw invalid(request, `answers another request (ids of ${message.id.length} and ${id.length} characters)`);
  }
  const raw = rawByName(message, request);
  const found = new Map<string, AnsweredOutput>();
  for (const output of message.outputs) {
    if (found.has(output.name)) throw invalid(request, `holds output ${output.name} twice`);
    found.set(output.name, output);
  }
  const wanted: readonly OutputRequest[] =
    request.outputs.length > 0 ? request.outputs : message.outputs.map(({ name }) => ({ name }));
  return {
    modelName: message.modelName,
    modelVersion: message.modelVersion,
    // The id of a stream's request is ours, and nothing to its caller.
    id: request.id ?? (id === undefined ? message.id : ''),
    outputs: wanted.map((want) => {
      const output = found.get(want.name);
      if (output === undefined) {
        throw invalid(request, `lacks output ${want.name}; it holds: ${[...found.keys()].join(', ') || 'none'}`);
      }
      return decodeOutput(output, want, raw.get(want.name), request);
    }),
  };
}

/** Raw bytes of each output that has an entry. An empty map means that the server answered with typed contents. */
function rawByName(message: InferAnswer, request: InferRequest): Map<string, Uint8Array> {
  const raw = message.rawOutputContents;
  if (raw.length === 0) return new Map();
  const offered = new Set(request.outputs.filter(({ region }) => region !== undefined).map(({ name }) => name));
  const inline = message.outputs.filter(({ name, parameters }) => !hasRegion(parameters) && !offered.has(name));
  const owners = raw.length === message.outputs.length ? message.outputs : inline;
  if (raw.length !== owners.length) {
    throw invalid(request, `holds ${raw.length} raw contents for ${inline.length} outputs inside the message`);
  }
  return new Map(owners.map((output, index) => [output.name, raw[index]!]));
}

function decodeOutput(
  output: AnsweredOutput,
  want: OutputRequest,
  raw: Uint8Array | undefined,
  request: InferRequest,
): OutputTensor {
  const { name, datatype, shape } = output;
  if (!isDatatype(datatype)) throw invalid(request, `has output ${name} of an unknown datatype`);
  checkRows(name, shape, request);
  const written = writtenRange(output, datatype, shape, want.region, raw, request);
  if (written !== undefined) return { name, datatype, shape, data: { kind: 'region', range: written } };
  return { name, datatype, shape, data: { kind: 'inline', bytes: inlineBytes(output, datatype, shape, raw, request) } };
}

/** Where the server wrote the output, or undefined for one inside the message, even though a region was offered. */
function writtenRange(
  output: AnsweredOutput,
  datatype: Datatype,
  shape: readonly number[],
  offered: RegionRange | undefined,
  raw: Uint8Array | undefined,
  request: InferRequest,
): RegionRange | undefined {
  const { name } = output;
  const told = readRegion(name, output.parameters, FAULT);
  if (offered === undefined) {
    if (told === undefined) return undefined;
    throw invalid(request, `puts output ${name} into a region although none was asked for`);
  }
  if (told === undefined && (output.contents !== undefined || (raw !== undefined && raw.length > 0))) return undefined;
  if (told !== undefined && (told.region !== offered.region || (told.offset !== 0 && told.offset !== offered.offset))) {
    throw invalid(request, `puts output ${name} into another region or offset than asked for`);
  }
  const byteSize = told?.byteSize ?? fixedByteSize(name, datatype, shape, FAULT);
  if (byteSize === undefined) throw invalid(request, `does not say how many bytes output ${name} has in its region`);
  checkByteSize(name, datatype, shape, byteSize, FAULT);
  if (byteSize > offered.byteSize) {
    throw invalid(request, `has ${byteSize} bytes in output ${name}, more than its ${offered.byteSize}`);
  }
  return { ...offered, byteSize };
}

function inlineBytes(
  output: AnsweredOutput,
  datatype: Datatype,
  shape: readonly number[],
  raw: Uint8Array | undefined,
  request: InferRequest,
): Uint8Array {
  if (raw === undefined && output.contents !== undefined) {
    return typedToRaw(output.name, datatype, shape, output.contents, FAULT);
  }
  if (raw === undefined) throw invalid(request, `has output ${output.name} without contents`);
  checkRawSize(output.name, datatype, shape, raw, FAULT);
  return raw;
}

/** Every tensor is batch first, so an answer with another number of rows would give vectors to the wrong texts. */
function checkRows(name: string, shape: readonly number[], request: InferRequest): void {
  const rows = request.inputs[0]?.shape[0];
  if (rows === undefined || shape[0] === rows) return;
  throw invalid(request, `has ${shape[0] ?? 'no'} rows in output ${name} for ${rows} rows sent`);
}

function invalid(request: InferRequest, what: string): ServingError {
  return new ServingError(FAULT, `the answer of model ${request.modelName} ${what}`, {
    details: { model: request.modelName },
  });
}
