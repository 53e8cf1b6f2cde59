/**
 * Looks at a model server at intervals, for readiness and /status. What is asked is in src/ops/model-server, what the
 * answers mean in its verdicts.ts and in src/ops/vram.
 *
 * A verdict that is older than two intervals counts for nothing: a process that was frozen wakes up with the verdicts of before.
 */
import { systemClock } from '../src/clock.ts';
import type { PlatformConfig } from '../src/config/sections/platform.ts';
import { type Look, ModelServerProbe, type ProbeOptions } from '../src/ops/model-server/probe.ts';
import {
  type CheckResult,
  inferenceCheck,
  modelStatus,
  modelsCheck,
  serverCheck,
  vramCheck,
} from '../src/ops/model-server/verdicts.ts';
import type { CheckBoard } from '../src/ops/readiness.ts';
import type { ModelStatus, VramStatus } from '../src/ops/status-schema.ts';
import { VramGuard, type VramLimits } from '../src/ops/vram/guard.ts';
import type { Log } from '../src/telemetry/log.ts';
import { every } from './worker/every.ts';

export type ModelServerCheck = 'triton' | 'models' | 'inference' | 'vram';

export type ModelServerWatchOptions = ProbeOptions & {
  readonly limits: VramLimits;
  readonly intervalMs: number;
};

export function vramLimits(platform: PlatformConfig): VramLimits {
  return {
    capacityBytes: platform.vramCapacityBytes,
    maxUtilization: platform.vramMaxUtilizationRatio,
    maxStaticBytes: platform.maxStaticVramBytes,
  };
}

export class ModelServerWatch {
  readonly #options: ModelServerWatchOptions;
  readonly #probe: ModelServerProbe;
  readonly #guard: VramGuard;
  #look: { readonly look: Look; readonly atMs: number } | undefined;
  #looking: { stop(): void } | undefined;

  constructor(options: ModelServerWatchOptions) {
    this.#options = options;
    this.#probe = new ModelServerProbe(options);
    this.#guard = new VramGuard(options.limits);
  }

  /** The checks that are made with these settings. */
  get checkNames(): readonly ModelServerCheck[] {
    const { httpUrl, metricsUrl, client } = this.#options;
    return [
      ...(httpUrl === undefined ? [] : (['triton', 'models'] as const)),
      ...(client === undefined ? [] : (['inference'] as const)),
      ...(metricsUrl === undefined ? [] : (['vram'] as const)),
    ];
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    const look = async () => {
      const taken = await this.#probe.look();
      if (taken.vram !== undefined) {
        this.#guard.look(taken.vram, taken.holdings?.fullestBytes, systemClock.monotonicMs());
      }
      this.#look = { look: taken, atMs: systemClock.monotonicMs() };
    };
    this.#looking = every(this.#options.intervalMs, look);
    await look();
  }

  /** The last one; undefined before the first. */
  get look(): Look | undefined {
    return this.#look?.look;
  }

  /** Undefined before the first look. */
  result(check: ModelServerCheck): CheckResult | undefined {
    if (this.#look === undefined) return undefined;
    const { look, atMs } = this.#look;
    const oldMs = systemClock.monotonicMs() - atMs;
    if (oldMs > 2 * this.#options.intervalMs + this.#options.timeoutMs) {
      return { state: 'fail', reason: `last looked at ${Math.round(oldMs / 1_000)} s ago` };
    }
    switch (check) {
      case 'triton':
        return serverCheck(look);
      case 'models':
        return modelsCheck(look);
      case 'inference':
        return inferenceCheck(look);
      case 'vram':
        return vramCheck(this.#guard.status, this.#guard.ok);
    }
  }

  /** Brings the board up to date; what has changed is logged. */
  report(board: CheckBoard, nowMs: number, log: Log): void {
    for (const name of this.checkNames) {
      const result = this.result(name);
      if (result === undefined || !board.set(name, result.state, result.reason, nowMs)) continue;
      log[result.state === 'fail' ? 'warn' : 'info']('check', { check: name, ...result });
    }
  }

  get models(): ModelStatus[] {
    const { models } = this.#options;
    const look = this.#look?.look;
    if (look === undefined) return models.map(unknownModel);
    return look.models.map((model) => modelStatus(model, look.holdings?.byModel.get(model.name)));
  }

  /** Null where GPU memory is not watched. */
  get vram(): VramStatus | null {
    return this.#options.metricsUrl === undefined ? null : this.#guard.status;
  }

  isLive(): Promise<boolean> {
    return this.#probe.isLive();
  }

  stop(): void {
    this.#looking?.stop();
  }
}

function unknownModel(name: string): ModelStatus {
  return { name, state: 'unknown', reason: null, fingerprint: null, dims: null, maxBatch: null, gpuBytes: null };
}
