/**
 * One inference, from the request message to the answer: read, queue, compute, write.
 *
 * The answer is written into the client's region even if the client has given up on the call meanwhile, as a real Triton
 * does: whoever reuses a slot after a deadline must reckon with that.
 */
import type { Clock } from '../clock.ts';
import type { ModelInferRequest, ModelInferResponse } from '../kserve/gen/grpc_service_pb.ts';
import { encodeInferResponse } from '../kserve/infer-response.ts';
import type { ModelRunner } from './model-runner.ts';
import type { ModelSpec } from './model-spec.ts';
import type { RegionRegistry, RegionWindow } from './regions.ts';
import type { Repository } from './repository.ts';
import { readInferRequest } from './request-reader.ts';
import { asWireFault, WireFault } from './wire-fault.ts';

const NOTHING = new Uint8Array(0);

export class Inference {
  readonly #repository: Repository;
  readonly #regions: RegionRegistry;
  readonly #clock: Clock;

  constructor(repository: Repository, regions: RegionRegistry, clock: Clock) {
    this.#repository = repository;
    this.#regions = regions;
    this.#clock = clock;
  }

  /** Rejects with a WireFault. `signal`: the client has gone. */
  async run(message: ModelInferRequest, signal?: AbortSignal): Promise<ModelInferResponse> {
    const startedAtMs = this.#clock.monotonicMs();
    const runner = this.#repository.find(message.modelName, message.modelVersion);
    try {
      return await this.#runOn(runner, message, startedAtMs, signal);
    } catch (error) {
      const fault = asWireFault(error);
      runner.statistics.recordFailure(fault.reason, this.#clock.monotonicMs() - startedAtMs);
      throw fault;
    }
  }

  async #runOn(
    runner: ModelRunner,
    message: ModelInferRequest,
    startedAtMs: number,
    signal: AbortSignal | undefined,
  ): Promise<ModelInferResponse> {
    const { spec, statistics } = runner;
    const request = readInferRequest(message, spec, this.#regions);
    const target = request.outputRange && this.#regions.window(request.outputRange);
    try {
      const offeredAtMs = this.#clock.monotonicMs();
      const { rows, queueMs, inferMs } = await runner.submit(request, signal);
      const computedAtMs = this.#clock.monotonicMs();
      if (target !== undefined) writeOutput(target, rows, spec);
      // As in Triton: an output in a region has an empty entry in the message, and nothing there names the region.
      const bytes = target === undefined ? rows : NOTHING;
      const { name, datatype, dims } = spec.output;
      const response = encodeInferResponse({
        modelName: spec.name,
        modelVersion: spec.version,
        id: request.id,
        outputs: [{ name, datatype, shape: [request.rows, dims], data: { kind: 'inline', bytes } }],
      });
      statistics.recordSuccess(request.rows, {
        inputMs: offeredAtMs - startedAtMs,
        queueMs,
        inferMs,
        outputMs: this.#clock.monotonicMs() - computedAtMs,
      });
      return response;
    } finally {
      target?.release();
    }
  }
}

function writeOutput(target: RegionWindow, rows: Uint8Array, { name, output }: ModelSpec): void {
  if (rows.byteLength > target.byteSize) {
    throw new WireFault(
      'INTERNAL',
      `in ensemble '${name}', shared memory size specified with the request for output '${output.name}' (${target.byteSize} bytes) should be at least ${rows.byteLength} bytes to hold the results`,
    );
  }
  target.write(rows);
}
