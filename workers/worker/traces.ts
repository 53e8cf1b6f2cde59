/** Traces of the worker where the environment asks for them; nothing is loaded for them where it does not. */
import type { WorkerConfig } from '../../src/config/programs.ts';
import { asServingError } from '../../src/errors.ts';
import { PipelineTraces } from '../../src/pipeline/batch-trace.ts';
import type { Log } from '../../src/telemetry/log.ts';

export type WorkerTraces = {
  readonly traces: PipelineTraces;
  /** Sends what is left, until the signal aborts. */
  close(signal: AbortSignal): Promise<void>;
};

const SERVICE = 'rag-serving-worker';
/** What the SDK allows by itself. */
const PLAIN_LINKS = 128;
/** The span of a batch is as large as its links: some 25 KB. So fewer than usual wait in memory, and go in one message. */
const SPANS_WAITING = 1_024;
const SPANS_OF_EXPORT = 128;

export async function openTraces(config: WorkerConfig, log: Log): Promise<WorkerTraces | undefined> {
  const { kafka, pipeline, workerId, traces } = config;
  const { protocol, isSet, endpoint } = traces;
  if (protocol === undefined) return undefined;
  try {
    const { openOtlpTracing } = await import('../../src/telemetry/otlp-tracing.ts');
    const { tracer, close } = await openOtlpTracing({
      protocol,
      service: SERVICE,
      instance: workerId,
      limits: {
        linksOfSpan: isSet.linkCountLimit ? undefined : Math.max(PLAIN_LINKS, pipeline.maxBatchSize),
        spansWaiting: isSet.queueSize ? undefined : SPANS_WAITING,
        spansOfExport: isSet.exportSize ? undefined : SPANS_OF_EXPORT,
      },
      log,
    });
    log.info('batches are traced', { protocol, endpoint });
    const { topic, consumerGroup } = kafka;
    const options = { tracer, topic, deadLetterTopic: pipeline.deadLetterTopic, consumerGroup, workerId };
    return { traces: new PipelineTraces(options), close };
  } catch (error) {
    // Chunks matter more than what is told of them.
    log.warn('no traces: the SDK cannot be made of the settings', { error: asServingError(error) });
    return undefined;
  }
}
