/** Which way the texts of this worker take: shared memory where the model server accepts it, else inline. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerConfig } from '../../src/config/programs.ts';
import { asServingError, ServingError } from '../../src/errors.ts';
import { bytesPerVector } from '../../src/kserve/contract.ts';
import { InlineTransport } from '../../src/pipeline/inline-transport.ts';
import { SharedMemoryTransport } from '../../src/pipeline/shared-memory-transport.ts';
import type { EmbedTransport } from '../../src/pipeline/transport.ts';
import type { Refusal } from '../../src/shm/registration.ts';
import { openSharedMemory, type SharedMemory } from '../../src/shm/shared-memory.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { connectEngine, type EngineConnection, type EngineWatchers } from './engine-connection.ts';

export type OpenedTransport = {
  readonly transport: EmbedTransport;
  /** Texts of one call at most. */
  readonly maxBatch: number;
  readonly memory: SharedMemory | undefined;
};

const REGISTER_TIMEOUT_MS = 5_000;
/** How often a model server that stopped taking shared memory is asked whether it takes some again. */
const ASK_AGAIN_MS = 30_000;
/** Of the deadline: a server that gets over it has by then probably finished the request that we gave up on. */
const QUARANTINE_FACTOR = 2;

const WAIT_MS = 500;

export type EmbedConfig = Pick<WorkerConfig, 'inference' | 'pipeline' | 'shm' | 'workerId'>;

/** The model server and the way to it. A server that goes away between the two is waited for again. */
export async function openEngine(
  config: EmbedConfig,
  watch: EngineWatchers,
  log: Log,
  signal: AbortSignal,
): Promise<{ readonly engine: EngineConnection } & OpenedTransport> {
  for (;;) {
    const engine = await connectEngine(config.inference, watch, log, signal);
    try {
      return { engine, ...(await openTransport(config, engine, log, signal)) };
    } catch (thrown) {
      engine.client.close();
      signal.throwIfAborted();
      const error = asServingError(thrown);
      if (error.failureClass !== 'outage') throw error;
      watch.health.fail(error.message);
      log.warn('the model server went away again', { code: error.code, error });
    }
    await sleep(WAIT_MS, undefined, { signal });
  }
}

async function openTransport(
  config: EmbedConfig,
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
  const onRefused = ({ reason, error }: Refusal) => {
    if (shm.mode === 'required') {
      throw new ServingError(
        'SHM_UNSUPPORTED',
        `RAG_SERVING_SHM_MODE is required, and the model server ${client.target} does not take shared memory (${reason}); start Triton ≥ 26.04 with --allow-client-shm=true, share /dev/shm with it, or set auto`,
        { cause: error },
      );
    }
    log.warn('tensors travel inside the gRPC messages', {
      reason: wanted ? reason : inference.endpoints.length > 1 ? 'several endpoints' : 'switched off',
      ...(error === undefined ? {} : { error }),
    });
  };
  if (opened.mode === 'inline') {
    onRefused(opened);
    return { transport: inline, maxBatch, memory: undefined };
  }
  const { memory } = opened;
  log.info('tensors travel in shared memory', { region: memory.regionName, slots: shm.slots });
  const transport = new SharedMemoryTransport({
    ...calls,
    memory,
    inline,
    onRefused,
    onReturned: () => log.info('tensors travel in shared memory again', { region: memory.registration.regionName }),
    whileInUse: shm.mode === 'required' ? 'wait' : 'inline',
    askAgainMs: ASK_AGAIN_MS,
  });
  return { transport, maxBatch, memory };
}
