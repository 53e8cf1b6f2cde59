/** The golden check of the sidecar: made each time the model was loaded, and never twice at once. */
import { checkModel } from '../../src/golden/check.ts';
import { type GateResult, GoldenGate } from '../../src/golden/gate.ts';
import type { Golden } from '../../src/golden/golden-file.ts';
import type { InferenceClient } from '../../src/inference/client.ts';
import type { Look } from '../../src/ops/model-server/probe.ts';
import type { Log } from '../../src/telemetry/log.ts';

export type GoldenWatchOptions = {
  readonly golden: Golden;
  readonly client: InferenceClient;
  readonly model: string;
  readonly log: Log;
};

/** A batch of many long texts on a busy GPU; the sidecar has time. */
const CALL_TIMEOUT_MS = 60_000;
const LOGGED_REASONS = 5;

export class GoldenWatch {
  readonly #options: GoldenWatchOptions;
  readonly #gate = new GoldenGate();
  #seen: Look | undefined;
  #checking = false;

  constructor(options: GoldenWatchOptions) {
    this.#options = options;
  }

  get result(): GateResult {
    return this.#gate.result;
  }

  /** The same look again changes nothing. */
  see(look: Look | undefined, signal: AbortSignal): void {
    if (look === undefined || look === this.#seen) return;
    this.#seen = look;
    const model = look.models.find(({ name }) => name === this.#options.model);
    const due = this.#gate.see({
      answers: model?.inference.kind === 'ok',
      fingerprint: model?.description?.parameters.fingerprint,
      inferences: look.inferences,
    });
    // One that a reload overtook ends first; a later look begins the next.
    if (due && !this.#checking && !signal.aborted) void this.#check(signal);
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { client, golden, model, log } = this.#options;
    this.#checking = true;
    const load = this.#gate.started();
    const report = await checkModel(
      {
        ...{ client, golden, model, overrides: {}, repeat: 1, maxErrorRate: 0 },
        ...{ waitMs: 0, callTimeoutMs: CALL_TIMEOUT_MS },
        nowMs: () => performance.now(),
        onWaiting: () => {},
      },
      signal,
    );
    this.#checking = false;
    this.#gate.ended(load, report);
    const { outcome, reasons, worst, notes } = report;
    const told = { model, outcome, reasons: reasons.slice(0, LOGGED_REASONS), notes, worst: worst?.label };
    if (outcome === 'equal') log.info('golden check', told);
    else log.warn('golden check', told);
  }
}
