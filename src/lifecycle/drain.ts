/**
 * Shutdown as a list of steps, upstream first. Every step runs, even when one before it failed, hung or spent the whole
 * budget: a late step gets at least `minStepMs`. Each step has a limit of its own; at the limit its signal aborts, after
 * `abortGraceMs` more it is left behind and the next one begins.
 *
 * `run` may be called again and gives the same promise; `hurry` shortens what is left and never skips a step, so that a
 * second signal cannot cut a commit in half.
 */
import type { Clock } from '../clock.ts';
import { ServingError } from '../errors.ts';

export type DrainStep = {
  readonly name: string;
  /** Most milliseconds this step may take. */
  readonly limitMs?: number;
  /** Of a budget, what this step must leave to those after it: the wait for work in flight leaves time for the commit. */
  keepMs?(budgetMs: number): number;
  /** `limitAt` tells when the signal will abort, on the drain's clock; hurrying brings it nearer. */
  run(signal: AbortSignal, limitAt: () => number): Promise<void> | void;
};

export type StepReport = {
  readonly name: string;
  readonly result: 'done' | 'failed' | 'timed-out';
  readonly tookMs: number;
  readonly error: unknown;
};

export type DrainReport = {
  readonly steps: readonly StepReport[];
  readonly tookMs: number;
  /** Every step ended by itself without an error. */
  readonly complete: boolean;
};

/** Calls back once, after so many milliseconds, unless cancelled. */
export type Timers = { after(milliseconds: number, callback: () => void): () => void };

export type DrainOptions = {
  readonly budgetMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly minStepMs?: number;
  readonly abortGraceMs?: number;
  readonly onStep?: (report: StepReport) => void;
};

export class Drain {
  readonly #steps: readonly DrainStep[];
  readonly #options: DrainOptions;
  readonly #minStepMs: number;
  readonly #abortGraceMs: number;
  #startedAt = 0;
  /** When the budget that counts now was given: at the start, or by the hurry that shortened it. */
  #givenAt = 0;
  #endsAt = Number.POSITIVE_INFINITY;
  #running: Promise<DrainReport> | undefined;
  #hurryStep: (() => void) | undefined;

  constructor(steps: readonly DrainStep[], options: DrainOptions) {
    this.#steps = steps;
    this.#options = options;
    this.#minStepMs = options.minStepMs ?? 250;
    this.#abortGraceMs = options.abortGraceMs ?? 250;
  }

  run(): Promise<DrainReport> {
    this.#running ??= this.#runAll();
    return this.#running;
  }

  /** At most so many milliseconds are left from now on. Never makes the budget longer. */
  hurry(leftMs: number): void {
    const now = this.#now();
    const endsAt = now + Math.max(0, leftMs);
    if (endsAt >= this.#endsAt) return;
    this.#endsAt = endsAt;
    this.#givenAt = now;
    this.#hurryStep?.();
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }

  async #runAll(): Promise<DrainReport> {
    this.#startedAt = this.#now();
    this.#givenAt = this.#startedAt;
    this.#endsAt = Math.min(this.#endsAt, this.#startedAt + this.#options.budgetMs);
    const steps: StepReport[] = [];
    for (const step of this.#steps) {
      const report = await this.#runStep(step);
      steps.push(report);
      this.#options.onStep?.(report);
    }
    return {
      steps,
      tookMs: this.#now() - this.#startedAt,
      complete: steps.every(({ result }) => result === 'done'),
    };
  }

  async #runStep(step: DrainStep): Promise<StepReport> {
    const startedAt = this.#now();
    const abort = new AbortController();
    const ended = (result: StepReport['result'], error?: unknown): StepReport => ({
      name: step.name,
      result,
      tookMs: this.#now() - startedAt,
      error,
    });
    // The step may end long after it was left behind; both outcomes are taken here, so that no rejection is unhandled.
    const work = Promise.resolve()
      .then(() => step.run(abort.signal, () => this.#limitOf(step, startedAt)))
      .then(
        () => ended('done'),
        (error: unknown) => ended(abort.signal.aborted ? 'timed-out' : 'failed', error),
      );
    const leftBehind = this.#leaveBehind(step, startedAt, abort, ended);
    try {
      return await Promise.race([work, leftBehind.promise]);
    } finally {
      leftBehind.cancel();
    }
  }

  #leaveBehind(
    step: DrainStep,
    startedAt: number,
    abort: AbortController,
    ended: (result: 'timed-out', error: unknown) => StepReport,
  ): { promise: Promise<StepReport>; cancel(): void } {
    let cancelTimer = (): void => {};
    const promise = new Promise<StepReport>((resolve) => {
      const atLimit = (): void => {
        if (abort.signal.aborted) return;
        const error = new ServingError('DRAIN_TIMEOUT', `drain step "${step.name}" reached its time limit`);
        abort.abort(error);
        cancelTimer = this.#options.timers.after(this.#abortGraceMs, () => resolve(ended('timed-out', error)));
      };
      const arm = (): void => {
        if (abort.signal.aborted) return;
        cancelTimer();
        const leftMs = this.#limitOf(step, startedAt) - this.#now();
        cancelTimer = this.#options.timers.after(Math.max(0, leftMs), atLimit);
      };
      this.#hurryStep = arm;
      arm();
    });
    return {
      promise,
      cancel: () => {
        this.#hurryStep = undefined;
        cancelTimer();
      },
    };
  }

  /** When this step's signal aborts. */
  #limitOf(step: DrainStep, startedAt: number): number {
    const own = startedAt + (step.limitMs ?? Number.POSITIVE_INFINITY);
    const kept = step.keepMs?.(this.#endsAt - this.#givenAt) ?? 0;
    return Math.min(own, Math.max(this.#endsAt - kept, startedAt + this.#minStepMs));
  }
}
