/** What the pipeline reports, as metrics. Has the shape of the pipeline's observer port without knowing the pipeline. */
import type { ServingError } from '../errors.ts';
import type { OutcomeKind } from '../records/outcome.ts';
import { OTHER } from './metric-spec.ts';
import type { Metrics } from './metrics.ts';

type PackedBatch = {
  readonly rows: number;
  readonly capacity: number;
  readonly bytes: number;
  readonly longestBytes: number;
  readonly closedBy: 'items' | 'bytes' | 'wait' | 'flush' | 'retry';
};
type Stage = 'embed' | 'persist' | 'delete' | 'retry' | 'dead_letter';

export function pipelineMetrics(metrics: Metrics) {
  return {
    packed: ({ rows, capacity, bytes, longestBytes, closedBy }: PackedBatch): void => {
      metrics.batchFillRatio.observe({}, rows / capacity);
      metrics.batchPaddingRatio.observe({}, 1 - bytes / (rows * longestBytes));
      metrics.batchesClosed.add({ reason: closedBy });
    },
    embedded: (_rows: number, transport: 'shared_memory' | 'inline'): void => {
      metrics.batches.add({ transport, result: 'ok' });
    },
    attempted: (stage: Stage, seconds: number, error: ServingError | undefined): void => {
      metrics.stageDuration.observe({ stage, result: error === undefined ? 'ok' : 'failed' }, seconds);
      if (error === undefined) return;
      metrics.stageErrors.add({ stage, code: error.code });
      if (stage === 'embed') metrics.batches.add({ transport: OTHER, result: 'failed' });
    },
    stored: (rows: number, superseded: number, refused: number): void => {
      metrics.sinkRows.add({ outcome: 'stored' }, rows);
      metrics.sinkRows.add({ outcome: 'superseded' }, superseded);
      metrics.sinkRows.add({ outcome: 'refused' }, refused);
    },
    settled: (outcome: OutcomeKind): void => metrics.chunks.add({ outcome }),
    deadLettered: (code: string): void => metrics.deadLetters.add({ code: code as ServingError['code'] }),
  };
}
