/** What the pipeline tells whoever counts. No metric library here: src/telemetry has one implementation. */
import type { ServingError } from '../errors.ts';
import type { OutcomeKind } from '../records/outcome.ts';
import type { Packed } from './packer.ts';

export type TransportKind = 'shared_memory' | 'inline';
export type PipelineStage = 'embed' | 'persist' | 'delete' | 'retry' | 'dead_letter';

/** A batch that left the packer. */
export type PackedBatch = {
  readonly rows: number;
  /** Rows that it might have had. */
  readonly capacity: number;
  /** Of all its texts, and of the longest. */
  readonly bytes: number;
  readonly longestBytes: number;
  readonly closedBy: Packed<unknown>['closedBy'] | 'retry';
};

export interface PipelineObserver {
  packed(batch: PackedBatch): void;
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
