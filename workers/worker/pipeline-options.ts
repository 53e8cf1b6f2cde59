/** What a pipeline takes from the settings, the same in every program that runs one. Pure. */
import type { WorkerConfig } from '../../src/config/programs.ts';
import type { PipelineOptions } from '../../src/pipeline/pipeline.ts';

type Settings = Pick<WorkerConfig, 'inference' | 'pipeline' | 'shm' | 'sink'>;
type FromSettings = Pick<
  PipelineOptions,
  'norm' | 'timeoutMs' | 'limits' | 'batchesInFlight' | 'persistConcurrency' | 'storeText'
>;

/** @param maxBatch texts that the model takes in one call */
export function pipelineOptions({ inference, pipeline, shm, sink }: Settings, maxBatch: number): FromSettings {
  return {
    norm: pipeline.vectorNorm,
    timeoutMs: inference.timeoutMs,
    limits: { maxItems: maxBatch, maxBytes: shm.slotInputBytes, maxWaitMs: pipeline.maxWaitMs },
    batchesInFlight: pipeline.batchesInFlight,
    persistConcurrency: pipeline.persistConcurrency,
    storeText: sink.storeText,
  };
}
