/** The gRPC services of the engine: KServe v2 with system shared memory, and the standard health check. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { handleUnaryCall, ServerUnaryCall, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { status as grpcStatus } from '@grpc/grpc-js';
import * as pb from '../kserve/gen/grpc_service_pb.ts';
import { HealthCheckResponse_ServingStatus, HealthCheckResponseSchema } from '../kserve/gen/health_pb.ts';
import { type InferCall, serveInferStream } from './infer-stream.ts';
import type { Inference } from './inference.ts';
import { modelConfig, modelMetadata, modelStatistics } from './model-info.ts';
import type { RegionRegistry } from './regions.ts';
import type { Repository } from './repository.ts';
import { asWireFault, invalidArgument, WireFault } from './wire-fault.ts';

export type ServiceParts = {
  readonly repository: Repository;
  readonly regions: RegionRegistry;
  readonly inference: Inference;
  /** Version of this package. */
  readonly version: string;
  ready(): boolean;
  /** Told of every stream, so that a stopping server can end those that are idle. */
  onStream(call: InferCall): void;
};

const EXTENSIONS = [
  'model_repository',
  'schedule_policy',
  'model_configuration',
  'system_shared_memory',
  'binary_tensor_data',
  'parameters',
  'statistics',
];

export function inferenceService(parts: ServiceParts): UntypedServiceImplementation {
  const { repository, regions, inference } = parts;
  return {
    serverLive: unary(() => create(pb.ServerLiveResponseSchema, { live: true })),
    serverReady: unary(() => create(pb.ServerReadyResponseSchema, { ready: parts.ready() })),
    modelReady: unary(({ name, version }: pb.ModelReadyRequest) =>
      create(pb.ModelReadyResponseSchema, { ready: repository.isReady(name, version) && parts.ready() }),
    ),
    serverMetadata: unary(() =>
      create(pb.ServerMetadataResponseSchema, {
        name: 'rag-serving-engine',
        version: parts.version,
        extensions: EXTENSIONS,
      }),
    ),
    modelMetadata: unary(({ name, version }: pb.ModelMetadataRequest) =>
      modelMetadata(repository.find(name, version).spec),
    ),
    modelConfig: unary(({ name, version }: pb.ModelConfigRequest) =>
      create(pb.ModelConfigResponseSchema, { config: modelConfig(repository.find(name, version).spec) }),
    ),
    modelInfer: unary((message: pb.ModelInferRequest, signal) => inference.run(message, signal)),
    modelStreamInfer: (call: InferCall) => {
      parts.onStream(call);
      serveInferStream(call, inference);
    },
    modelStatistics: unary((request: pb.ModelStatisticsRequest) => statisticsOf(repository, request)),
    repositoryIndex: unary(({ ready }: pb.RepositoryIndexRequest) =>
      create(pb.RepositoryIndexResponseSchema, {
        models: repository.all
          .filter(({ loaded }) => loaded || !ready)
          .map(({ runner, loaded }) => ({
            name: runner.spec.name,
            version: runner.spec.version,
            state: loaded ? 'READY' : 'UNAVAILABLE',
            reason: loaded ? '' : 'unloaded',
          })),
      }),
    ),
    repositoryModelLoad: unary(({ modelName }: pb.RepositoryModelLoadRequest) => {
      repository.load(modelName);
      return create(pb.RepositoryModelLoadResponseSchema);
    }),
    repositoryModelUnload: unary(({ modelName }: pb.RepositoryModelUnloadRequest) => {
      repository.unload(modelName);
      return create(pb.RepositoryModelUnloadResponseSchema);
    }),
    ...sharedMemory(regions),
  };
}

export function healthService(parts: Pick<ServiceParts, 'ready'>): UntypedServiceImplementation {
  const known = ['', pb.GRPCInferenceService.typeName];
  return {
    check: unary(({ service }: { service: string }) => {
      if (!known.includes(service)) throw new WireFault('NOT_FOUND', `unknown service '${service}'`);
      const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus;
      return create(HealthCheckResponseSchema, { status: parts.ready() ? SERVING : NOT_SERVING });
    }),
    // As in Triton: probes poll.
    watch: (call: { emit(event: 'error', error: object): void }) =>
      call.emit('error', { code: grpcStatus.UNIMPLEMENTED, details: 'health watch is not supported: poll Check' }),
  };
}

function sharedMemory(regions: RegionRegistry): UntypedServiceImplementation {
  return {
    systemSharedMemoryStatus: unary(({ name }: pb.SystemSharedMemoryStatusRequest) => {
      type Regions = NonNullable<MessageInitShape<typeof pb.SystemSharedMemoryStatusResponseSchema>['regions']>;
      const found: Regions = Object.fromEntries(
        regions
          .status(name)
          .map((region) => [
            region.name,
            { name: region.name, key: region.key, offset: BigInt(region.offset), byteSize: BigInt(region.byteSize) },
          ]),
      );
      return create(pb.SystemSharedMemoryStatusResponseSchema, { regions: found });
    }),
    systemSharedMemoryRegister: unary((request: pb.SystemSharedMemoryRegisterRequest) => {
      const { name, key, offset, byteSize } = request;
      regions.register({ name, key, offset: Number(offset), byteSize: Number(byteSize) });
      return create(pb.SystemSharedMemoryRegisterResponseSchema);
    }),
    systemSharedMemoryUnregister: unary(({ name }: pb.SystemSharedMemoryUnregisterRequest) => {
      regions.unregister(name);
      return create(pb.SystemSharedMemoryUnregisterResponseSchema);
    }),
  };
}

function statisticsOf(
  repository: Repository,
  { name, version }: pb.ModelStatisticsRequest,
): pb.ModelStatisticsResponse {
  const loaded = repository.all.filter(({ loaded }) => loaded).map(({ runner }) => runner);
  if (name !== '' && !loaded.some(({ spec }) => spec.name === name)) {
    throw invalidArgument(`requested model '${name}' is not available`);
  }
  const asked = name === '' ? loaded : [repository.find(name, version)];
  return create(pb.ModelStatisticsResponseSchema, { modelStats: asked.map(modelStatistics) });
}

/** A handler that may throw a WireFault or reject with one; `signal` aborts when the client has gone. */
function unary<Request, Response>(
  handle: (request: Request, signal: AbortSignal) => Response | Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, callback) => void settle(handle, call, callback);
}

async function settle<Request, Response>(
  handle: (request: Request, signal: AbortSignal) => Response | Promise<Response>,
  call: ServerUnaryCall<Request, Response>,
  callback: sendUnaryData<Response>,
): Promise<void> {
  const gone = new AbortController();
  call.on('cancelled', () => gone.abort());
  try {
    callback(null, await handle(call.request, gone.signal));
  } catch (error) {
    const { status, message } = asWireFault(error);
    callback({ code: grpcStatus[status], details: message });
  }
}
