/**
 * gRPC status → ServingError: the one place that knows the server's texts.
 *
 * A code alone does not do: Triton uses UNAVAILABLE for a full queue, a request that waited too long, a shape outside
 * the model's profile and a model that is not loaded, besides what gRPC means by it. Rules are tried in order, the first
 * that fits wins, and the last rule of each code has no text. Our message never repeats the server's, and of an inference
 * `cause` does not either: a model may quote its input there, and causes are logged.
 */
import { type ServiceError, status } from '@grpc/grpc-js';
import { type ErrorCode, ServingError } from '../errors.ts';

/** What the call was about: the same answer means another thing to an inference and to a registration. */
export type CallKind = 'infer' | 'model' | 'server' | 'shared-memory';

export type FailedCall = {
  readonly kind: CallKind;
  /** Name of the method, for the message. */
  readonly method: string;
  /** Endpoint, for the message. */
  readonly endpoint: string;
  /** Our caller's signal had fired. */
  readonly aborted: boolean;
};

type Rule = {
  readonly status: status;
  readonly text?: RegExp;
  readonly kind?: CallKind;
  readonly code: ErrorCode;
  /** What it means, in our words. */
  readonly meaning: string;
};

const RULES: readonly Rule[] = [
  rule('UNAVAILABLE', 'INFERENCE_QUEUE_FULL', 'the queue of the model is full', /exceeds maximum queue size/i),
  rule(
    'UNAVAILABLE',
    'INFERENCE_QUEUE_TIMEOUT',
    'the request waited too long in the queue',
    /request timeout expired/i,
  ),
  rule(
    'UNAVAILABLE',
    'INFERENCE_REJECTED',
    'the shape lies outside the profile of the model',
    /binding dimension|optimization profile|invalid (input )?shape|shape of dimension/i,
  ),
  rule(
    'UNAVAILABLE',
    'MODEL_NOT_READY',
    'the model is not ready',
    /not at ready state|not ready|no available versions|unknown model|unload(ed|ing)|scheduler for model/i,
  ),
  tlsRule('its certificate has expired, renew it there', /certificate has expired/i),
  tlsRule('its certificate is not valid yet, compare the clocks', /certificate is not yet valid/i),
  tlsRule('its certificate is for another name, check the address or the server name override', /altnames/i),
  tlsRule(
    'its certificate is of an authority that is not among those trusted here',
    /self[- ]signed|unable to (verify|get)/i,
  ),
  tlsRule(undefined, /certificate|\b(ssl|tls)\b/i),
  rule('UNAVAILABLE', 'INFERENCE_UNAVAILABLE', 'the server cannot be reached'),

  rule(
    'RESOURCE_EXHAUSTED',
    'INFERENCE_MESSAGE_TOO_LARGE',
    'the message is larger than the limit: send fewer rows or raise the limit',
    /larger than (the )?max|message (size|length)/i,
  ),
  rule('RESOURCE_EXHAUSTED', 'INFERENCE_QUEUE_FULL', 'the server is out of resources for more calls'),

  rule('NOT_FOUND', 'SHM_REGION_UNKNOWN', 'the server does not know the shared-memory region', /shared memory region/i),
  rule(
    'NOT_FOUND',
    'SHM_REGION_UNKNOWN',
    'the server does not know the shared-memory region',
    undefined,
    'shared-memory',
  ),
  rule('NOT_FOUND', 'MODEL_NOT_READY', 'the server does not have the model'),
  rule('ALREADY_EXISTS', 'SHM_REGION_EXISTS', 'a region of this name is registered already'),

  rule(
    'INVALID_ARGUMENT',
    'SHM_REGION_UNKNOWN',
    'the server does not know the shared-memory region',
    /unable to find shared memory region/i,
  ),
  rule(
    'INVALID_ARGUMENT',
    'SHM_INVALID',
    'a range lies outside its shared-memory region',
    /shared memory (region|byte)|offset.*byte size|reserved prefix/i,
  ),
  rule('INVALID_ARGUMENT', 'SHM_INVALID', 'the region cannot be registered like this', undefined, 'shared-memory'),
  rule('INVALID_ARGUMENT', 'INFERENCE_REJECTED', 'the server refuses the request'),
  rule('OUT_OF_RANGE', 'INFERENCE_REJECTED', 'the server refuses the request'),

  rule('UNIMPLEMENTED', 'SHM_UNSUPPORTED', 'the server refuses shared memory of clients', /shared memory/i),
  rule('UNIMPLEMENTED', 'SHM_UNSUPPORTED', 'the server has no shared memory', undefined, 'shared-memory'),
  rule('UNIMPLEMENTED', 'INFERENCE_UNSUPPORTED', 'the server does not know this call'),

  rule(
    'INTERNAL',
    'SHM_UNSUPPORTED',
    'the server cannot open the shared-memory file',
    /unable to open shared memory region/i,
  ),
  rule('INTERNAL', 'SHM_REGION_EXISTS', 'a running request uses the region', /currently in use/i, 'shared-memory'),
  // The file of a key is open for another name already; Triton then trips over its own closed descriptor.
  rule(
    'INTERNAL',
    'SHM_REGION_EXISTS',
    'the key is registered under another name',
    /invalid shared memory region/i,
    'shared-memory',
  ),
  rule(
    'INTERNAL',
    'SHM_INVALID',
    'the output does not fit into its range of shared memory',
    /shared memory size specified|shared memory.*should be at least/i,
  ),
  rule(
    'INTERNAL',
    'INFERENCE_RESPONSE_INVALID',
    'the answer is no protobuf message',
    /response message parsing error/i,
  ),
  rule('INTERNAL', 'INFERENCE_FAILED', 'the process of the model has died', /is not healthy/i),
  rule('INTERNAL', 'INFERENCE_FAILED', 'the model failed'),

  rule('DEADLINE_EXCEEDED', 'INFERENCE_DEADLINE', 'no answer in time'),
  rule('CANCELLED', 'INFERENCE_UNAVAILABLE', 'the server cancelled the call'),
  rule('UNAUTHENTICATED', 'INFERENCE_ACCESS_DENIED', 'the server asks for other credentials'),
  rule('PERMISSION_DENIED', 'INFERENCE_ACCESS_DENIED', 'the server refuses access'),
  rule('FAILED_PRECONDITION', 'INFERENCE_FAILED', 'the server is in no state for this call'),
  rule('ABORTED', 'INFERENCE_FAILED', 'the server gave the call up'),
  rule('DATA_LOSS', 'INFERENCE_FAILED', 'data was lost on the way'),
  rule('UNKNOWN', 'INFERENCE_FAILED', 'the model failed'),
];

/** How grpc-js itself begins, about the connection. Anything else is the server's. */
const WORDS_OF_THE_TRANSPORT =
  /^(No connection established|Connection dropped|Name resolution failed|Stream refused by server|Channel closed|Deadline exceeded|Received RST_STREAM|Received message larger than max|Attempted to send message|(read|write|connect) E[A-Z]+)/;

/** A failed call as a ServingError. */
export function fromGrpcError(error: ServiceError, call: FailedCall): ServingError {
  const name = status[error.code] ?? String(error.code);
  const details = { method: call.method, endpoint: call.endpoint, status: name };
  const cause = causeOf(error, call.kind);
  if (call.aborted) {
    return new ServingError('INFERENCE_CANCELLED', `${call.method} was cancelled by its caller`, { cause, details });
  }
  const found = RULES.find(
    (candidate) =>
      candidate.status === error.code &&
      (candidate.kind === undefined || candidate.kind === call.kind) &&
      (candidate.text === undefined || candidate.text.test(error.details)),
  );
  const meaning = found?.meaning ?? 'the call failed';
  return new ServingError(
    found?.code ?? 'INFERENCE_FAILED',
    `${call.method} at ${call.endpoint}: ${meaning} (${name})`,
    { cause, details },
  );
}

/** What Triton says of one request on a stream, where no status comes with it. Rules with a text above are tried first. */
const STREAM_RULES: readonly { readonly text: RegExp; readonly code: ErrorCode; readonly meaning: string }[] = [
  {
    text: /unknown model|no available versions|not ready|not at ready state|unload/i,
    code: 'MODEL_NOT_READY',
    meaning: 'the server does not have the model',
  },
  {
    text: /unexpected (shape|datatype|inference (input|output))|batch[- ]size must be|expected \d+ (input|output)|must specify|missing|byte size|malformed/i,
    code: 'INFERENCE_REJECTED',
    meaning: 'the server refuses the request',
  },
];

/** The `error_message` of one answer on a stream as a ServingError. Its words are withheld like those of a failed call. */
export function fromStreamError(message: string, endpoint: string): ServingError {
  const known =
    RULES.find((candidate) => candidate.text?.test(message) === true && (candidate.kind ?? 'infer') === 'infer') ??
    STREAM_RULES.find(({ text }) => text.test(message));
  return new ServingError(
    known?.code ?? 'INFERENCE_FAILED',
    `ModelStreamInfer at ${endpoint}: ${known?.meaning ?? 'the model failed'}`,
    { cause: withheld(message), details: { method: 'ModelStreamInfer', endpoint } },
  );
}

function causeOf(error: ServiceError, kind: CallKind): Error {
  if (kind !== 'infer' || WORDS_OF_THE_TRANSPORT.test(error.details)) return error;
  return withheld(error.details);
}

function withheld(words: string): Error {
  const told = new Error(`words of the model server withheld (${words.length} characters); its own log has them`);
  // For a caller that knows what it asks for: not enumerable, so that nothing prints it by accident.
  return Object.defineProperty(told, 'details', { value: words, enumerable: false });
}

function tlsRule(why: string | undefined, text: RegExp): Rule {
  const meaning = `TLS to the server failed${why === undefined ? '' : `: ${why}`}`;
  return rule('UNAVAILABLE', 'INFERENCE_UNAVAILABLE', meaning, text);
}

function rule(name: keyof typeof status, code: ErrorCode, meaning: string, text?: RegExp, kind?: CallKind): Rule {
  return {
    status: status[name],
    code,
    meaning,
    ...(text === undefined ? {} : { text }),
    ...(kind === undefined ? {} : { kind }),
  };
}
