/**
 * The models that are served: found by name and version, loaded and unloaded, with Triton's words for what is not there.
 */
import type { ModelRunner } from './model-runner.ts';
import { invalidArgument, WireFault } from './wire-fault.ts';

export type ModelState = { readonly runner: ModelRunner; readonly loaded: boolean };

export class Repository {
  readonly #runners: ReadonlyMap<string, ModelRunner>;
  readonly #unloaded = new Set<string>();

  constructor(runners: readonly ModelRunner[]) {
    this.#runners = new Map(runners.map((runner) => [runner.spec.name, runner]));
  }

  get all(): readonly ModelState[] {
    return [...this.#runners.values()].map((runner) => ({ runner, loaded: !this.#unloaded.has(runner.spec.name) }));
  }

  /** A model that can be asked now. The empty version means the newest. */
  find(name: string, version: string): ModelRunner {
    checkVersion(version);
    const runner = this.#runners.get(name);
    const asked = version === '' ? '' : ` version ${Number(version)}`;
    if (runner === undefined || (version !== '' && Number(version) !== Number(runner.spec.version))) {
      throw new WireFault('NOT_FOUND', `Request for unknown model: '${name}'${asked} is not found`);
    }
    if (!this.#unloaded.has(name)) return runner;
    if (version === '') {
      throw new WireFault('NOT_FOUND', `Request for unknown model: '${name}' has no available versions`);
    }
    throw new WireFault('UNAVAILABLE', `Request for unknown model: '${name}'${asked} is not at ready state`);
  }

  isReady(name: string, version: string): boolean {
    checkVersion(version);
    const runner = this.#runners.get(name);
    if (runner === undefined || this.#unloaded.has(name)) return false;
    return version === '' || Number(version) === Number(runner.spec.version);
  }

  load(name: string): void {
    if (!this.#runners.has(name)) {
      throw new WireFault('INTERNAL', `failed to load '${name}', failed to poll from model repository`);
    }
    this.#unloaded.delete(name);
  }

  /** Running requests end as they would have. Unknown names are refused by Triton at load only. */
  unload(name: string): void {
    if (this.#runners.has(name)) this.#unloaded.add(name);
  }
}

function checkVersion(version: string): void {
  if (version === '' || /^\s*\d+/.test(version)) return;
  throw invalidArgument(
    `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`,
  );
}
