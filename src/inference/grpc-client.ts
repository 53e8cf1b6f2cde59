/**
 * InferenceClient over gRPC.
 *
 * With several servers a call that finds no connection goes on to the next one within the same deadline; every other
 * error is the answer. Shared memory belongs to one server, so a pool that may stand for several refuses it.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Metadata } from '@grpc/grpc-js';
import { isServingError, ServingError } from '../errors.ts';
import { asBuffer } from '../kserve/bytes.ts';
import {
  GRPCInferenceService,
  ModelConfigRequestSchema,
  ModelMetadataRequestSchema,
  type ModelMetadataResponse_TensorMetadata,
  ModelReadyRequestSchema,
  ServerLiveRequestSchema,
  ServerReadyRequestSchema,
  SystemSharedMemoryRegisterRequestSchema,
  SystemSharedMemoryStatusRequestSchema,
  SystemSharedMemoryUnregisterRequestSchema,
} from '../kserve/gen/grpc_service_pb.ts';
import { readInferAnswer } from '../kserve/infer-answer.ts';
import { encodeInferRequest } from '../kserve/infer-request.ts';
import { decodeInferResponse } from '../kserve/infer-response.ts';
import type { InferRequest, InferResponse } from '../kserve/tensor.ts';
import { fromInt64Shape } from '../kserve/tensor-layout.ts';
import type { CallOptions, InferenceClient, ModelDescription, SharedMemoryRegion, TensorMetadata } from './client.ts';
import type { ChannelTls } from './connection.ts';
import {
  type BreakerChoice,
  defaultBreaker,
  EndpointPool,
  type OnBreakerChange,
  type OnCallEnd,
  type PoolEvent,
} from './endpoint-pool.ts';
import { acrossConnections, type BreakerUse } from './failover.ts';
import type { CallKind } from './grpc-errors.ts';
import { StreamInference } from './stream-inference.ts';
import { parseTarget } from './target.ts';
import { callOnce, deadlineOf, withTraceContext } from './unary-call.ts';

export type GrpcClientOptions = {
  /** host:port, or several separated by commas; see target.ts. */
  readonly target: string;
  /** Setting that the target came from, for messages. */
  readonly targetSetting: string;
  /** Largest answer taken. `receiveLimitFor` gives what a model needs. */
  readonly receiveLimitBytes: number;
  /** Without it the connection is plaintext. */
  readonly tls?: ChannelTls;
  /** Sent with every call, for example an API key. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly onBreakerChange?: OnBreakerChange;
  /** Servers that come and go, names that cannot be looked up, certificates that a server refuses. */
  readonly onEvent?: (event: PoolEvent) => void;
  /** How often the addresses of a `dns://` name are asked for; 5 s unless given. */
  readonly lookUpEveryMs?: number;
  readonly onCallEnd?: OnCallEnd;
  /** `stream`: inferences without shared memory travel on long-lived streams where the server offers them; `unary` unless given. */
  readonly inferOver?: 'unary' | 'stream';
  /** Separate HTTP/2 connections to each server, so that one's flow control holds up nothing else; 1 unless given. */
  readonly connectionsPerEndpoint?: number;
  /** `defaultBreaker` unless given. */
  readonly breaker?: BreakerChoice;
};

/** Connects at the first call. Throws CONFIG_INVALID for a target, limit or metadata that cannot work. */
export function createGrpcInferenceClient(options: GrpcClientOptions): InferenceClient {
  return new GrpcInferenceClient(options);
}

const methods = GRPCInferenceService.method;

const USE_OF_BREAKER = {
  infer: 'guards',
  'shared-memory': 'tells',
  model: 'none',
  server: 'none',
} as const satisfies Record<CallKind, BreakerUse>;

class GrpcInferenceClient implements InferenceClient {
  readonly target: string;
  readonly #pool: EndpointPool;
  readonly #metadata: Metadata;
  readonly #streams: StreamInference | undefined;

  constructor(options: GrpcClientOptions) {
    const { target, targetSetting, receiveLimitBytes, tls, metadata, onBreakerChange, onEvent, lookUpEveryMs } =
      options;
    const { inferOver = 'unary', connectionsPerEndpoint = 1, breaker = defaultBreaker } = options;
    if (!Number.isSafeInteger(receiveLimitBytes) || receiveLimitBytes <= 0) {
      throw new ServingError(
        'CONFIG_INVALID',
        `receive limit must be a whole number of bytes, not ${receiveLimitBytes}`,
      );
    }
    const endpoints = parseTarget(target, targetSetting);
    this.target = endpoints.map(({ name }) => name).join(',');
    this.#metadata = toMetadata(metadata ?? {});
    this.#pool = new EndpointPool(endpoints, {
      receiveLimitBytes,
      tls,
      onBreakerChange,
      onEvent,
      lookUpEveryMs,
      onCallEnd: options.onCallEnd,
      connectionsPerEndpoint,
      breaker,
    });
    this.#streams = inferOver === 'stream' ? new StreamInference(this.#pool, this.#metadata) : undefined;
  }

  async serverLive(options: CallOptions): Promise<boolean> {
    return (await this.#call(methods.serverLive, 'server', create(ServerLiveRequestSchema), options)).live;
  }

  async serverReady(options: CallOptions): Promise<boolean> {
    return (await this.#call(methods.serverReady, 'server', create(ServerReadyRequestSchema), options)).ready;
  }

  async modelReady(modelName: string, options: CallOptions): Promise<boolean> {
    const request = create(ModelReadyRequestSchema, { name: modelName });
    try {
      return (await this.#call(methods.modelReady, 'model', request, options)).ready;
    } catch (error) {
      // Servers say either `false` or an error about a model that they do not have.
      if (isServingError(error, 'MODEL_NOT_READY')) return false;
      throw error;
    }
  }

  async describeModel(modelName: string, options: CallOptions): Promise<ModelDescription> {
    const [metadata, { config }] = await Promise.all([
      this.#call(methods.modelMetadata, 'model', create(ModelMetadataRequestSchema, { name: modelName }), options),
      this.#call(methods.modelConfig, 'model', create(ModelConfigRequestSchema, { name: modelName }), options),
    ]);
    if (config === undefined) {
      throw new ServingError('INFERENCE_RESPONSE_INVALID', `the config of model ${modelName} came back empty`);
    }
    return {
      name: metadata.name,
      versions: metadata.versions,
      platform: metadata.platform,
      inputs: metadata.inputs.map(toTensorMetadata),
      outputs: metadata.outputs.map(toTensorMetadata),
      maxBatchSize: config.maxBatchSize,
      parameters: Object.fromEntries(
        Object.entries(config.parameters).map(([name, { stringValue }]) => [name, stringValue]),
      ),
    };
  }

  infer(request: InferRequest, options: CallOptions): Promise<InferResponse> {
    if (this.#streams !== undefined && !usesRegion(request)) return this.#streams.infer(request, options);
    return this.#inferByCall(request, options);
  }

  async #inferByCall(request: InferRequest, options: CallOptions): Promise<InferResponse> {
    if (usesRegion(request)) this.#needOneServer();
    const { name } = methods.modelInfer;
    const answer = await this.#callRaw(name, 'infer', encodeInferRequest(request), readInferAnswer, options);
    return decodeInferResponse(answer, request);
  }

  async registerSharedMemory(region: SharedMemoryRegion, options: CallOptions): Promise<void> {
    checkRegion(region);
    this.#needOneServer();
    const request = create(SystemSharedMemoryRegisterRequestSchema, {
      name: region.name,
      key: region.key,
      offset: BigInt(region.offset),
      byteSize: BigInt(region.byteSize),
    });
    await this.#call(methods.systemSharedMemoryRegister, 'shared-memory', request, options);
  }

  async unregisterSharedMemory(name: string, options: CallOptions): Promise<void> {
    if (name === '') throw new ServingError('ARGUMENT_INVALID', 'the empty region name would unregister every region');
    this.#needOneServer();
    const request = create(SystemSharedMemoryUnregisterRequestSchema, { name });
    try {
      await this.#call(methods.systemSharedMemoryUnregister, 'shared-memory', request, options);
    } catch (error) {
      if (!isServingError(error, 'SHM_REGION_UNKNOWN')) throw error;
    }
  }

  async listSharedMemory(options: CallOptions): Promise<readonly SharedMemoryRegion[]> {
    this.#needOneServer();
    const request = create(SystemSharedMemoryStatusRequestSchema);
    const { regions } = await this.#call(methods.systemSharedMemoryStatus, 'shared-memory', request, options);
    return Object.values(regions).map(({ name, key, offset, byteSize }) => ({
      name,
      key,
      offset: Number(offset),
      byteSize: Number(byteSize),
    }));
  }

  close(): void {
    this.#streams?.close();
    this.#pool.close();
  }

  #call<I extends DescMessage, O extends DescMessage>(
    { name, input, output }: DescMethodUnary<I, O>,
    kind: CallKind,
    request: MessageShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    const bytes = asBuffer(toBinary(input, request));
    return this.#callRaw(name, kind, bytes, (answer) => fromBinary(output, answer), options);
  }

  async #callRaw<T>(
    method: string,
    kind: CallKind,
    bytes: Buffer,
    read: (answer: Buffer) => T,
    options: CallOptions,
  ): Promise<T> {
    const deadlineMs = deadlineOf(options, Date.now());
    const metadata = withTraceContext(this.#metadata, options);
    const call = { method, kind, bytes, read, metadata, deadlineMs, signal: options.signal };
    return acrossConnections(
      this.#pool,
      {
        method,
        breaker: USE_OF_BREAKER[kind],
        deadlineMs: performance.now() + options.timeoutMs,
        signal: options.signal,
      },
      (connection) => callOnce(connection, call),
    );
  }

  #needOneServer(): void {
    if (!this.#pool.spread) return;
    throw new ServingError('SHM_UNSUPPORTED', `shared memory needs one local server, ${this.target} may be several`, {
      details: { target: this.target },
    });
  }
}

function usesRegion({ inputs, outputs }: InferRequest): boolean {
  return inputs.some(({ data }) => data.kind === 'region') || outputs.some(({ region }) => region !== undefined);
}

function toTensorMetadata({ name, datatype, shape }: ModelMetadataResponse_TensorMetadata): TensorMetadata {
  return { name, datatype, shape: fromInt64Shape(shape) };
}

function toMetadata(entries: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(entries)) {
    try {
      metadata.set(name, value);
    } catch (error) {
      // The value may be a secret: only its name is told.
      throw new ServingError('CONFIG_INVALID', `metadata ${JSON.stringify(name)} is no valid gRPC header`, {
        cause: error,
      });
    }
  }
  return metadata;
}

function checkRegion({ name, key, offset, byteSize }: SharedMemoryRegion): void {
  const whole = (value: number) => Number.isSafeInteger(value) && value >= 0;
  if (name !== '' && /^\/[^/]+$/.test(key) && whole(offset) && whole(byteSize) && byteSize > 0) return;
  throw new ServingError(
    'ARGUMENT_INVALID',
    'a shared-memory region needs a name, a key of "/" and a file name, an offset ≥ 0 and a size > 0',
    { details: { name, key, offset, byteSize } },
  );
}
