/**
 * The shared-memory half of a server, in memory: for restarts, refusals and regions in use at an exact moment, which a
 * real server cannot be made to show. Codes and order of events as Triton has them.
 */
import { ServingError } from '../../../src/errors.ts';
import type { CallOptions, InferenceClient, SharedMemoryRegion } from '../../../src/inference/client.ts';
import type { InferRequest, InferResponse } from '../../../src/kserve/tensor.ts';

export class FakeShmServer implements InferenceClient {
  readonly target = 'fake:8001';
  readonly regions = new Map<string, SharedMemoryRegion>();
  readonly calls: string[] = [];
  /** Thrown by the next registrations, first one first. */
  registerFails: ServingError[] = [];
  unregisterFails: ServingError | undefined;
  /** Does not answer to an unregistration. */
  silent = false;
  /** Refuses to unregister a region in use instead of doing it later. */
  refusesToUnregister = false;
  /** Names in use: so many more registrations of their file are refused, or unregistrations where these are refused. */
  inUse = new Map<string, number>();
  /** What each name was registered for; a region in use is known beyond its unregistration. */
  readonly #keys = new Map<string, string>();
  /** Awaited inside each registration. */
  gate: Promise<void> = Promise.resolve();

  /** All registrations are gone, as after a restart of the server. */
  restart(): void {
    this.regions.clear();
  }

  async registerSharedMemory(region: SharedMemoryRegion, options: CallOptions): Promise<void> {
    this.calls.push(`register ${region.name}`);
    await this.gate;
    const failure = this.registerFails.shift();
    if (failure !== undefined) throw failure;
    for (const [name, refusals] of this.inUse) {
      if (refusals <= 0 || (this.#keys.get(name) ?? region.key) !== region.key) continue;
      this.inUse.set(name, refusals - 1);
      throw new ServingError('SHM_REGION_EXISTS', 'in use');
    }
    if (this.regions.has(region.name)) throw new ServingError('SHM_REGION_EXISTS', 'already in manager');
    if ([...this.regions.values()].some(({ key }) => key === region.key)) {
      throw new ServingError('SHM_REGION_EXISTS', 'the key is registered under another name');
    }
    this.regions.set(region.name, region);
    this.#keys.set(region.name, region.key);
    // A caller that gives up hears nothing of it; the server has registered all the same.
    options.signal?.throwIfAborted();
  }

  async unregisterSharedMemory(name: string, { signal }: CallOptions): Promise<void> {
    this.calls.push(`unregister ${name}`);
    if (this.silent) {
      signal?.throwIfAborted();
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    }
    if (name === '') this.regions.clear();
    if (this.unregisterFails !== undefined) throw this.unregisterFails;
    const refusals = this.inUse.get(name) ?? 0;
    if (this.refusesToUnregister && refusals > 0) {
      this.inUse.set(name, refusals - 1);
      throw new ServingError('SHM_REGION_EXISTS', 'currently in use');
    }
    this.regions.delete(name);
  }

  async listSharedMemory(): Promise<readonly SharedMemoryRegion[]> {
    return [...this.regions.values()];
  }

  async serverLive(): Promise<boolean> {
    return true;
  }
  async serverReady(): Promise<boolean> {
    return true;
  }
  async modelReady(): Promise<boolean> {
    return true;
  }
  async describeModel(): Promise<never> {
    throw new ServingError('INFERENCE_UNSUPPORTED', 'a fake without models');
  }
  async infer(_request: InferRequest, _options: CallOptions): Promise<InferResponse> {
    throw new ServingError('INFERENCE_UNSUPPORTED', 'a fake without models');
  }
  close(): void {}
}
