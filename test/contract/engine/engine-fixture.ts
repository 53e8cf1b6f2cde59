/** A running engine for contract tests, with the library's own client and a raw gRPC one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { type Engine, type EngineOptions, startEngine } from '../../../src/engine/engine.ts';
import { grpcDefinition } from '../../../src/engine/grpc-definition.ts';
import { plainSynthetic, type SyntheticOptions } from '../../../src/engine/synthetic-compute.ts';
import type { InferenceClient } from '../../../src/inference/client.ts';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import { GRPCInferenceService } from '../../../src/kserve/gen/grpc_service_pb.ts';
import type { InferRequest, InputTensor, TensorData } from '../../../src/kserve/tensor.ts';

export type RunningEngine = {
  readonly engine: Engine;
  readonly client: InferenceClient;
  readonly raw: InstanceType<ReturnType<typeof makeClientConstructor>>;
  /** Stands in for /dev/shm. */
  readonly shm: string;
  url(path: string): string;
  stop(): Promise<void>;
};

const RawClient = makeClientConstructor(grpcDefinition(GRPCInferenceService), 'inference');
const RECEIVE_LIMIT = 64 * 2 ** 20;

export type Overrides = {
  /** A loopback address; 127.0.0.1 unless given. */
  readonly host?: string;
  /** A free one unless given. */
  readonly grpcPort?: number;
  readonly synthetic?: Partial<SyntheticOptions>;
  readonly queue?: Partial<EngineOptions['queue']>;
  readonly allowClientSharedMemory?: boolean;
  readonly model?: EngineOptions['model'];
};

export async function runEngine(overrides: Overrides = {}): Promise<RunningEngine> {
  const shm = mkdtempSync(join(tmpdir(), 'rag-engine-shm-'));
  const { host = '127.0.0.1', grpcPort = 0 } = overrides;
  const engine = await startEngine({
    server: {
      host,
      grpcPort,
      httpPort: 0,
      metricsPort: 0,
      shmBasePath: shm,
      allowClientSharedMemory: overrides.allowClientSharedMemory ?? true,
      version: 'test',
    },
    queue: { maxQueueSize: 0, defaultTimeoutUs: 0, queueDelayUs: 0, ...overrides.queue },
    model: overrides.model ?? { kind: 'synthetic', synthetic: { ...plainSynthetic, ...overrides.synthetic } },
  });
  const target = `${host}:${engine.ports.grpcPort}`;
  const client = createGrpcInferenceClient({ target, targetSetting: 'TEST', receiveLimitBytes: RECEIVE_LIMIT });
  const raw = new RawClient(target, credentials.createInsecure(), { 'grpc.max_receive_message_length': -1 });
  return {
    engine,
    client,
    raw,
    shm,
    url: (path) => `http://${host}:${engine.ports.httpPort}${path}`,
    stop: async () => {
      client.close();
      raw.close();
      await engine.close(5_000);
      rmSync(shm, { recursive: true });
    },
  };
}

export function texts(values: readonly string[], name = 'TEXT'): InputTensor {
  return tensor(name, values.length, { kind: 'inline', bytes: encodeAll(values) });
}

export function tensor(name: string, rows: number, data: TensorData): InputTensor {
  return { name, datatype: 'BYTES', shape: [rows, 1], data };
}

export function embed(values: readonly string[], modelName = 'batch_embedder_ensemble'): InferRequest {
  return { modelName, inputs: [texts(values)], outputs: [{ name: 'EMBEDDING' }] };
}

export async function inlineOutput(client: InferenceClient, request: InferRequest, timeoutMs = 60_000) {
  const { outputs } = await client.infer(request, { timeoutMs });
  const data = outputs[0]!.data;
  if (data.kind !== 'inline') throw new Error('expected an inline output');
  return data.bytes;
}

/** A unary call that the port of the client does not have. */
export function rawCall<T>({ raw }: RunningEngine, method: string, request: object): Promise<T> {
  return new Promise((resolve, reject) => {
    raw[method]!(request, (error: Error | null, answer: T) => (error === null ? resolve(answer) : reject(error)));
  });
}

/** What the server itself said of a call that must fail: the status details behind the client's error. */
export async function detailsOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => {
      throw new Error('expected a failure');
    },
    (thrown: Error) => thrown,
  );
  return String((error.cause as { details?: string }).details);
}
