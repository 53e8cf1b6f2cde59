/** What the pipeline tells whoever counts. No metric library here: src/telemetry has one implementation. */
import type { ServingError } from '../errors.ts';
import type { OutcomeKind } from '../records/outcome.ts';

export type TransportKind = 'shared_memory' | 'inline';
export type PipelineStage = 'embed' | 'persist' | 'delete' | 'retry' | 'dead_letter';

export interface PipelineObserver {
  /** A batch left the packer with `rows` of at most `capacity` texts. */
  packed(rows: number, capacity: number, closedBy: string): void;
  /** One inference call ended well. */
  embedded(rows: number, transport: TransportKind): void;
  /** One attempt at a stage, however it ended, in seconds. */
  attempted(stage: PipelineStage, seconds: number, error: ServingError | undefined): void;
  stored(rows: number, superseded: number, refused: number): void;
  settled(outcome: OutcomeKind): void;
  deadLettered(code: string, stage: string): void;
}

export const unobserved: PipelineObserver = {
  packed: () => {},
  embedded: () => {},
  attempted: () => {},
  stored: () => {},
  settled: () => {},
  deadLettered: () => {},
};
