/**
 * Reads a ModelInferRequest the way Triton does: every check it makes on names, types, shapes, sizes and regions, with
 * its status and its words, so that a client cannot tell the engines apart by their errors.
 *
 * Inputs in shared memory are copied out at once: the client may reuse its slot as soon as it gives up on the call.
 */

import { isDatatype } from '../kserve/datatype.ts';
import type {
  InferParameter,
  ModelInferRequest,
  ModelInferRequest_InferInputTensor,
} from '../kserve/gen/grpc_service_pb.ts';
import type { RegionRange } from '../kserve/tensor.ts';
import type { Columns } from './compute.ts';
import type { ModelSpec } from './model-spec.ts';
import type { RegionRegistry } from './regions.ts';
import { readStringElements } from './string-elements.ts';
import { invalidArgument, type WireFault } from './wire-fault.ts';

export type ReadRequest = {
  readonly id: string;
  readonly columns: Columns;
  readonly rows: number;
  readonly timeoutUs: number;
  /** Where the output goes; undefined = into the message. */
  readonly outputRange: RegionRange | undefined;
};

/** A serialised tensor, or its elements where the request gave typed contents. */
type Payload = Uint8Array | readonly Uint8Array[];

type Parameters = Readonly<Record<string, InferParameter>>;

/** Throws WireFault. */
export function readInferRequest(message: ModelInferRequest, spec: ModelSpec, regions: RegionRegistry): ReadRequest {
  checkParameterNames(message.parameters);
  const timeoutUs = readTimeout(message.parameters);
  const prefix = `[request id: ${message.id === '' ? '<id_unknown>' : message.id}]`;
  const inputs = inputsByName(message, spec, prefix);
  const outputRange = readOutput(message, spec);
  const payloads = readPayloads(message, spec, regions);

  const rows = readRows(inputs, spec, prefix);
  const columns = spec.inputs.map((name) =>
    readStringElements(payloads.get(name)!, rows, { input: name, model: spec.name, prefix }),
  );
  return { id: message.id, columns, rows, timeoutUs, outputRange };
}

function checkParameterNames(parameters: Parameters): void {
  const allowed = 'triton_enable_empty_final_response';
  if (!Object.keys(parameters).some((name) => name.startsWith('triton_') && name !== allowed)) return;
  throw invalidArgument(
    `parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: ${allowed}`,
  );
}

/** Microseconds; 0 when not given. */
function readTimeout(parameters: Parameters): number {
  const choice = parameters.timeout?.parameterChoice;
  if (choice === undefined || choice.case === undefined) return 0;
  if (choice.case !== 'int64Param' && choice.case !== 'uint64Param') {
    throw invalidArgument("invalid value type for 'timeout' parameter, expected int64_param.");
  }
  return Math.max(0, Number(choice.value));
}

function inputsByName(
  message: ModelInferRequest,
  spec: ModelSpec,
  prefix: string,
): Map<string, ModelInferRequest_InferInputTensor> {
  const inputs = new Map<string, ModelInferRequest_InferInputTensor>();
  for (const input of message.inputs) {
    if (inputs.has(input.name)) throw invalidArgument(`${prefix} input '${input.name}' already exists in request`);
    inputs.set(input.name, input);
  }
  for (const name of inputs.keys()) {
    if (!spec.inputs.includes(name)) {
      throw invalidArgument(`unexpected inference input '${name}' for model '${spec.name}'`);
    }
  }
  const missing = spec.inputs.filter((name) => !inputs.has(name));
  if (missing.length === 0) return inputs;
  throw invalidArgument(
    `${prefix} expected ${spec.inputs.length} inputs but got ${inputs.size} inputs for model '${spec.name}'. ` +
      `Got input(s) [${quoted([...inputs.keys()])}], but missing required input(s) [${quoted(missing)}]. ` +
      'Please provide all required input(s).',
  );
}

/** Checks each input's datatype and shape; gives the batch size, which all must share. */
function readRows(
  inputs: ReadonlyMap<string, ModelInferRequest_InferInputTensor>,
  spec: ModelSpec,
  prefix: string,
): number {
  let rows: number | undefined;
  for (const name of spec.inputs) {
    const { datatype, shape } = inputs.get(name)!;
    if (datatype !== 'BYTES') {
      const found = isDatatype(datatype) ? datatype : '<invalid>';
      throw invalidArgument(
        `${prefix} inference input '${name}' data-type is '${found}', but model '${spec.name}' expects 'BYTES'`,
      );
    }
    if (shape.length === 0) {
      throw invalidArgument(
        `${prefix} input '${name}' has no shape but model requires batch dimension for '${spec.name}'`,
      );
    }
    const batch = Number(shape[0]);
    rows ??= batch;
    if (batch !== rows) {
      throw invalidArgument(`${prefix} input '${name}' batch size does not match other inputs for '${spec.name}'`);
    }
    if (batch > spec.queue.maxBatch) {
      throw invalidArgument(
        `${prefix} inference request batch-size must be <= ${spec.queue.maxBatch} for '${spec.name}'`,
      );
    }
    if (shape.length !== 2 || shape[1] !== 1n || batch < 0) throw unexpectedShape(prefix, name, shape, spec);
  }
  return rows!;
}

function unexpectedShape(prefix: string, name: string, shape: readonly bigint[], spec: ModelSpec): WireFault {
  return invalidArgument(
    `${prefix} unexpected shape for input '${name}' for model '${spec.name}'. Expected [-1,1], got [${shape}]. ` +
      'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each ' +
      'input shape. If you want to specify the full shape including the batch dim in your input dims config, try ' +
      'setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.',
  );
}

/** Serialised BYTES of each input. Those in a region have no entry in raw_input_contents; surplus entries are ignored. */
function readPayloads(message: ModelInferRequest, spec: ModelSpec, regions: RegionRegistry): Map<string, Payload> {
  const raw = message.rawInputContents;
  let next = 0;
  return new Map(
    message.inputs.map(({ name, parameters, contents }): [string, Payload] => {
      const range = readRange(name, parameters);
      if (range !== undefined) return [name, readRegion(regions, range)];
      if (raw.length === 0 && contents !== undefined) return [name, contents.bytesContents];
      if (contents !== undefined) {
        throw invalidArgument(
          `contents field must not be specified when using raw_input_contents for '${name}' for model '${spec.name}'`,
        );
      }
      const bytes = raw[next++];
      if (bytes !== undefined) return [name, bytes];
      throw invalidArgument(`unable to find data for input tensor '${name}' for model '${spec.name}' in request.`);
    }),
  );
}

function readRegion(regions: RegionRegistry, range: RegionRange): Uint8Array {
  const window = regions.window(range);
  try {
    return window.read();
  } finally {
    window.release();
  }
}

function readOutput(message: ModelInferRequest, spec: ModelSpec): RegionRange | undefined {
  let range: RegionRange | undefined;
  for (const { name, parameters } of message.outputs) {
    if (name !== spec.output.name) {
      throw invalidArgument(`unexpected inference output '${name}' for model '${spec.name}'`);
    }
    range = readRange(name, parameters);
  }
  return range;
}

function readRange(tensor: string, parameters: Parameters): RegionRange | undefined {
  const choice = parameters.shared_memory_region?.parameterChoice;
  if (choice === undefined || choice.case === undefined) return undefined;
  if (choice.case !== 'stringParam') {
    throw invalidArgument(
      `invalid value type for 'shared_memory_region' parameter for tensor '${tensor}', expected string_param.`,
    );
  }
  const byteSize = readInteger(tensor, 'shared_memory_byte_size', parameters);
  if (byteSize === undefined) {
    throw invalidArgument(
      `'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${tensor}'`,
    );
  }
  return { region: choice.value, byteSize, offset: readInteger(tensor, 'shared_memory_offset', parameters) ?? 0 };
}

function readInteger(tensor: string, name: string, parameters: Parameters): number | undefined {
  const choice = parameters[name]?.parameterChoice;
  if (choice === undefined || choice.case === undefined) return undefined;
  if (choice.case === 'int64Param' || choice.case === 'uint64Param') return Number(choice.value);
  throw invalidArgument(`invalid value type for '${name}' parameter for tensor '${tensor}', expected int64_param.`);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(',');
}
