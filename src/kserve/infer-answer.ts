/**
 * What a server answered, read from the bytes of a ModelInferResponse or of a ModelStreamInferResponse around one, field by
 * field: no more than is looked at is made into objects, and tensors stay views of the message. Written by hand, because
 * reading answers is a good part of what a query costs its client: see docs/decisions/online.md.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { ServingError } from '../errors.ts';
import { asBuffer } from './bytes.ts';
import {
  type InferParameter,
  InferParameterSchema,
  type InferTensorContents,
  InferTensorContentsSchema,
} from './gen/grpc_service_pb.ts';
import { WireReader } from './wire-reader.ts';

export type AnsweredOutput = {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: Readonly<Record<string, InferParameter>>;
  /** Undefined unless the server answered with typed contents. */
  readonly contents: InferTensorContents | undefined;
};

export type InferAnswer = {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly outputs: readonly AnsweredOutput[];
  readonly rawOutputContents: readonly Uint8Array[];
};

/** `error` is empty for an answer. */
export type StreamAnswer = { readonly error: string; readonly answer: InferAnswer };

const STREAM = { error: 1, response: 2 } as const;
const RESPONSE = { modelName: 1, modelVersion: 2, id: 3, outputs: 5, rawOutputContents: 6 } as const;
const OUTPUT = { name: 1, datatype: 2, shape: 3, parameters: 4, contents: 5 } as const;
const MAP_ENTRY = { key: 1, value: 2 } as const;
const NO_PARAMETERS: AnsweredOutput['parameters'] = Object.freeze({});

/** Throws INFERENCE_RESPONSE_INVALID for bytes that are no such message. */
export function readInferAnswer(bytes: Uint8Array): InferAnswer {
  const reader = new WireReader(asBuffer(bytes));
  try {
    return readAnswer(reader, bytes.length);
  } catch (error) {
    throw noMessage(error);
  }
}

/** Throws INFERENCE_RESPONSE_INVALID for bytes that are no such message. */
export function readStreamAnswer(bytes: Uint8Array): StreamAnswer {
  const reader = new WireReader(asBuffer(bytes));
  let error = '';
  let answer: InferAnswer | undefined;
  try {
    while (reader.isBefore(bytes.length)) {
      const field = reader.lengthField();
      if (field === STREAM.error) error = reader.text();
      else if (field === STREAM.response) answer = readAnswer(reader, reader.end());
      else reader.skip();
    }
    return { error, answer: answer ?? readAnswer(reader, bytes.length) };
  } catch (cause) {
    throw noMessage(cause);
  }
}

function readAnswer(reader: WireReader, end: number): InferAnswer {
  let modelName = '';
  let modelVersion = '';
  let id = '';
  const outputs: AnsweredOutput[] = [];
  const rawOutputContents: Uint8Array[] = [];
  while (reader.isBefore(end)) {
    switch (reader.lengthField()) {
      case RESPONSE.modelName:
        modelName = reader.text();
        break;
      case RESPONSE.modelVersion:
        modelVersion = reader.text();
        break;
      case RESPONSE.id:
        id = reader.text();
        break;
      case RESPONSE.outputs:
        outputs.push(readOutput(reader, reader.end()));
        break;
      case RESPONSE.rawOutputContents:
        rawOutputContents.push(reader.bytes());
        break;
      default:
        reader.skip();
    }
  }
  return { modelName, modelVersion, id, outputs, rawOutputContents };
}

function readOutput(reader: WireReader, end: number): AnsweredOutput {
  let name = '';
  let datatype = '';
  let shape: readonly number[] = [];
  let parameters: Record<string, InferParameter> | undefined;
  let contents: InferTensorContents | undefined;
  while (reader.isBefore(end)) {
    switch (reader.lengthField()) {
      case OUTPUT.name:
        name = reader.text();
        break;
      case OUTPUT.datatype:
        datatype = reader.text();
        break;
      case OUTPUT.shape:
        shape = [...shape, ...reader.packed()];
        break;
      case OUTPUT.parameters:
        parameters ??= {};
        readParameter(reader, reader.end(), parameters);
        break;
      case OUTPUT.contents:
        contents = fromBinary(InferTensorContentsSchema, reader.bytes());
        break;
      default:
        // A dimension alone: some encoders do not pack them.
        if (reader.isVarintField(OUTPUT.shape)) shape = [...shape, reader.int64()];
        else reader.skip();
    }
  }
  return { name, datatype, shape, parameters: parameters ?? NO_PARAMETERS, contents };
}

function readParameter(reader: WireReader, end: number, into: Record<string, InferParameter>): void {
  let key = '';
  let value: Uint8Array = new Uint8Array(0);
  while (reader.isBefore(end)) {
    const field = reader.lengthField();
    if (field === MAP_ENTRY.key) key = reader.text();
    else if (field === MAP_ENTRY.value) value = reader.bytes();
    else reader.skip();
  }
  into[key] = fromBinary(InferParameterSchema, value);
}

function noMessage(cause: unknown): ServingError {
  return new ServingError('INFERENCE_RESPONSE_INVALID', 'the answer is no message of the KServe protocol', { cause });
}
