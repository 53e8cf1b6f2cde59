/** Persist stage: rows into the store and deletions out of it, whatever it takes. An outage is waited out. */
import type { ServingError } from '../errors.ts';
import type { RowOutcome, Sink, SinkRow } from '../sinks/sink.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { storeSpan } from './batch-trace.ts';
import type { PipelineStage } from './observer.ts';
import { persevere, type Surroundings } from './persevere.ts';
import type { DeletionTraveller, Traveller } from './traveller.ts';

export type Persistable<T extends Traveller> = { readonly traveller: T; readonly row: SinkRow };

export type PersistResults<T extends Traveller> = {
  onStored(traveller: T): void;
  onRefused(traveller: T, error: ServingError, attempts: number): void;
};

export class PersistStage {
  readonly #sink: Sink;
  readonly #surroundings: Surroundings;

  constructor(sink: Sink, surroundings: Surroundings) {
    this.#sink = sink;
    this.#surroundings = surroundings;
  }

  write<T extends Traveller>(
    rows: readonly Persistable<T>[],
    results: PersistResults<T>,
    signal: AbortSignal,
  ): Promise<void> {
    const call = (part: readonly Persistable<T>[]) =>
      this.#sink.write(
        part.map(({ row }) => row),
        signal,
      );
    return this.#run('persist', rows, call, ({ traveller }) => traveller, results, signal);
  }

  remove(
    deletions: readonly DeletionTraveller[],
    results: PersistResults<DeletionTraveller>,
    signal: AbortSignal,
  ): Promise<void> {
    const call = (part: readonly DeletionTraveller[]) =>
      this.#sink.remove(
        part.map(({ record }) => record.deletion),
        signal,
      );
    return this.#run('delete', deletions, call, (traveller) => traveller, results, signal);
  }

  /** Rejects with a fatal ServingError or the signal's reason. */
  async #run<I, T extends Traveller>(
    stage: PipelineStage,
    items: readonly I[],
    call: (items: readonly I[]) => Promise<readonly RowOutcome[]>,
    travellerOf: (item: I) => T,
    results: PersistResults<T>,
    signal: AbortSignal,
  ): Promise<void> {
    const effort = { stage, hold: 'sink', rows: items.length } as const;
    // Rows of one write are of one batch.
    const span = items.length === 0 ? undefined : travellerOf(items[0] as I).trace?.span;
    const attempt =
      span === undefined
        ? () => call(items)
        : () => inSpan(span.child(storeSpan(this.#sink.name, stage, items.length)), () => call(items));
    const given = await persevere(attempt, effort, this.#surroundings, signal);
    if (given.kind !== 'ok') {
      if (given.kind === 'stop') throw given.error;
      if (given.kind === 'suspect') return results.onRefused(travellerOf(items[0] as I), given.error, given.attempts);
      const middle = Math.ceil(items.length / 2);
      await this.#run(stage, items.slice(0, middle), call, travellerOf, results, signal);
      return this.#run(stage, items.slice(middle), call, travellerOf, results, signal);
    }
    const counts = { stored: 0, superseded: 0, refused: 0 };
    given.value.forEach((outcome, index) => {
      counts[outcome.kind]++;
      const traveller = travellerOf(items[index] as I);
      if (outcome.kind === 'refused') results.onRefused(traveller, outcome.error, given.attempts);
      else results.onStored(traveller);
    });
    this.#surroundings.observer.stored(counts.stored, counts.superseded, counts.refused);
  }
}
