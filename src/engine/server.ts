/**
 * EngineServer: the gRPC and HTTP servers around a set of models.
 *
 * Closing is orderly: not ready, refuse what is new, answer what is there, end the streams, then the ports; whatever is
 * still open when the time is up is cut.
 */
import type { Server as HttpServer } from 'node:http';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../clock.ts';
import { ServingError } from '../errors.ts';
import { GRPCInferenceService } from '../kserve/gen/grpc_service_pb.ts';
import { Health } from '../kserve/gen/health_pb.ts';
import { grpcDefinition } from './grpc-definition.ts';
import { httpServer, listenHttp } from './http.ts';
import type { InferCall } from './infer-stream.ts';
import { Inference } from './inference.ts';
import type { ModelRunner } from './model-runner.ts';
import { RegionRegistry } from './regions.ts';
import { Repository } from './repository.ts';
import { healthService, inferenceService } from './service.ts';

export type ServerOptions = {
  readonly host: string;
  /** 0 = a free one; for all three. */
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly metricsPort: number;
  readonly shmBasePath: string;
  readonly allowClientSharedMemory: boolean;
  readonly version: string;
};

export type Ports = { readonly grpcPort: number; readonly httpPort: number; readonly metricsPort: number };

export class EngineServer {
  readonly ports: Ports;
  readonly #grpc: Server;
  readonly #http: readonly HttpServer[];
  readonly #runners: readonly ModelRunner[];
  readonly #regions: RegionRegistry;
  readonly #state: ServingState;
  #closed: Promise<void> | undefined;

  private constructor(parts: {
    ports: Ports;
    grpc: Server;
    http: readonly HttpServer[];
    runners: readonly ModelRunner[];
    regions: RegionRegistry;
    state: ServingState;
  }) {
    this.ports = parts.ports;
    this.#grpc = parts.grpc;
    this.#http = parts.http;
    this.#runners = parts.runners;
    this.#regions = parts.regions;
    this.#state = parts.state;
  }

  /** Throws CONFIG_INVALID for a port that cannot be had. */
  static async start(
    options: ServerOptions,
    runners: readonly ModelRunner[],
    clock: Clock = systemClock,
  ): Promise<EngineServer> {
    const repository = new Repository(runners);
    const regions = new RegionRegistry({
      basePath: options.shmBasePath,
      allowClientSharedMemory: options.allowClientSharedMemory,
    });
    const state: ServingState = { ready: true, streams: new Set() };
    const ready = () => state.ready;
    const parts = {
      repository,
      regions,
      inference: new Inference(repository, regions, clock),
      version: options.version,
      ready,
      onStream: (call: InferCall) => track(state.streams, call),
    };
    const grpc = new Server({
      // Triton takes messages of up to 2 GiB.
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
    });
    grpc.addService(grpcDefinition(GRPCInferenceService), inferenceService(parts));
    grpc.addService(grpcDefinition(Health), healthService(parts));
    const http: HttpServer[] = [];
    try {
      const { host } = options;
      const grpcPort = await listenGrpc(grpc, host, options.grpcPort);
      const listen = (port: number, option: string) => {
        const server = httpServer(parts);
        http.push(server);
        return listenHttp(server, host, port, option);
      };
      const httpPort = await listen(options.httpPort, '--http-port');
      const shared = options.metricsPort !== 0 && options.metricsPort === options.httpPort;
      const metricsPort = shared ? httpPort : await listen(options.metricsPort, '--metrics-port');
      return new EngineServer({ ports: { grpcPort, httpPort, metricsPort }, grpc, http, runners, regions, state });
    } catch (error) {
      grpc.forceShutdown();
      for (const server of http) server.close();
      throw error;
    }
  }

  /** The model is gone: probes and clients are told, requests fail by themselves. */
  markNotReady(): void {
    this.#state.ready = false;
  }

  /** Ends within `graceMs`, at once after `hurry` aborts. May be called twice. */
  close(graceMs: number, hurry?: AbortSignal): Promise<void> {
    return (this.#closed ??= this.#close(graceMs, hurry));
  }

  async #close(graceMs: number, hurry: AbortSignal | undefined): Promise<void> {
    this.markNotReady();
    const timeout = AbortSignal.any([AbortSignal.timeout(graceMs), ...(hurry === undefined ? [] : [hurry])]);
    await orTimeout(Promise.all(this.#runners.map((runner) => runner.drain())), timeout);
    for (const runner of this.#runners) runner.abandon();
    // One turn for the last answers to be written before their streams end.
    await new Promise((resolve) => setImmediate(resolve));
    for (const call of this.#state.streams) {
      call.emit('error', { code: status.UNAVAILABLE, details: 'the server is stopping' });
    }
    await orTimeout(new Promise<void>((resolve) => this.#grpc.tryShutdown(() => resolve())), timeout);
    this.#grpc.forceShutdown();
    for (const server of this.#http) {
      server.close();
      server.closeAllConnections();
    }
    this.#regions.close();
  }
}

type ServingState = { ready: boolean; readonly streams: Set<InferCall> };

function track(streams: Set<InferCall>, call: InferCall): void {
  streams.add(call);
  const forget = () => streams.delete(call);
  call.on('end', forget);
  call.on('cancelled', forget);
  call.on('error', forget);
}

async function orTimeout(work: Promise<unknown>, timeout: AbortSignal): Promise<void> {
  if (timeout.aborted) return;
  await Promise.race([
    work,
    new Promise<void>((resolve) => timeout.addEventListener('abort', () => resolve(), { once: true })),
  ]);
}

function listenGrpc(server: Server, host: string, port: number): Promise<number> {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (cause, bound) => {
      if (cause === null) resolve(bound);
      else
        reject(
          new ServingError('CONFIG_INVALID', `--grpc-port ${port} cannot be opened on ${host}: choose another`, {
            cause,
          }),
        );
    });
  });
}
