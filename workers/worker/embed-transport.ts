/** Which way the texts of this worker take: shared memory where the model server accepts it, else inline. */
import type { WorkerConfig } from '../../src/config/programs.ts';
import { ServingError } from '../../src/errors.ts';
import { bytesPerVector } from '../../src/kserve/contract.ts';
import { InlineTransport } from '../../src/pipeline/inline-transport.ts';
import { SharedMemoryTransport } from '../../src/pipeline/shared-memory-transport.ts';
import type { EmbedTransport } from '../../src/pipeline/transport.ts';
import { openSharedMemory, type SharedMemory } from '../../src/shm/shared-memory.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { EngineConnection } from './engine-connection.ts';

export type OpenedTransport = {
  readonly transport: EmbedTransport;
  /** Texts of one call at most. */
  readonly maxBatch: number;
  readonly memory: SharedMemory | undefined;
};

const REGISTER_TIMEOUT_MS = 5_000;
/** A server may finish a request that we gave up on: its slot rests for one more timeout. */
const QUARANTINE_FACTOR = 2;

export async function openTransport(
  config: WorkerConfig,
  { client, contract }: EngineConnection,
  log: Log,
  signal: AbortSignal,
): Promise<OpenedTransport> {
  const { shm, inference, pipeline, workerId } = config;
  const maxBatch = Math.min(pipeline.maxBatchSize, contract.maxBatch);
  if (maxBatch < pipeline.maxBatchSize) {
    log.warn('the model takes fewer texts a call than configured', { configured: pipeline.maxBatchSize, maxBatch });
  }
  const calls = { client, contract, timeoutMs: inference.timeoutMs };
  const inline = new InlineTransport(calls);
  const wanted = inference.endpoints.length === 1 && shm.mode !== 'off';
  const opened = await openSharedMemory(
    client,
    {
      basePath: shm.basePath,
      workerId,
      slots: wanted ? shm.slots : 0,
      inputBytes: shm.slotInputBytes,
      outputBytes: maxBatch * bytesPerVector(contract),
      quarantineMs: inference.timeoutMs * QUARANTINE_FACTOR,
      timeoutMs: REGISTER_TIMEOUT_MS,
    },
    log,
    signal,
  );
  if (opened.mode === 'inline') {
    if (shm.mode === 'required') {
      throw new ServingError(
        'SHM_UNSUPPORTED',
        `RAG_SERVING_SHM_MODE is required, and the model server ${client.target} does not take shared memory (${opened.reason}); start Triton ≥ 26.04 with --allow-client-shm=true, share /dev/shm with it, or set auto`,
        { cause: opened.error },
      );
    }
    log.warn('tensors travel inside the gRPC messages', {
      reason: wanted ? opened.reason : inference.endpoints.length > 1 ? 'several endpoints' : 'switched off',
      ...(opened.error === undefined ? {} : { error: opened.error }),
    });
    return { transport: inline, maxBatch, memory: undefined };
  }
  const { memory } = opened;
  log.info('tensors travel in shared memory', { region: memory.regionName, slots: shm.slots });
  return { transport: new SharedMemoryTransport({ ...calls, memory, inline }), maxBatch, memory };
}
