/** Shared memory: room for the worker's region, and a model server that sees what is put there. */
import { isServingError } from '../../../src/errors.ts';
import type { InferenceClient } from '../../../src/inference/client.ts';
import { bytesPerVector, type VectorContract } from '../../../src/kserve/contract.ts';
import { type MountSpace, readMountSpace, requireShmMount } from '../../../src/shm/capacity.ts';
import { layoutFor } from '../../../src/shm/layout.ts';
import type { Refusal } from '../../../src/shm/registration.ts';
import { openSharedMemory } from '../../../src/shm/shared-memory.ts';
import { bytesText } from '../../tool/bytes-text.ts';
import { fail, type Outcome, ok, skipped, warn } from '../check.ts';
import type { Parts } from '../parts.ts';

type ShmMode = Parts['config']['shm']['mode'];

const CALL_TIMEOUT_MS = 2_000;
const PROBE_AREA_BYTES = 64;

/** Of a worker with these settings; the outputs count as soon as the model is known. */
export function regionBytesOf(
  { shm, pipeline }: Pick<Parts['config'], 'shm' | 'pipeline'>,
  contract: VectorContract | undefined,
): number {
  if (shm.mode === 'off') return 0;
  const rows = Math.min(pipeline.maxBatchSize, contract?.maxBatch ?? pipeline.maxBatchSize);
  const outputBytes = contract === undefined ? 1 : rows * bytesPerVector(contract);
  return layoutFor({ slots: shm.slots, inputBytes: shm.slotInputBytes, outputBytes }).regionBytes;
}

export function spaceVerdict(basePath: string, neededBytes: number, { freeBytes, totalBytes }: MountSpace): Outcome {
  if (totalBytes === 0) return ok(`${basePath} has no limit; a worker needs ${bytesText(neededBytes)}`);
  const found = `a worker needs ${bytesText(neededBytes)} of ${basePath}, which has ${bytesText(freeBytes)} free of ${bytesText(totalBytes)}`;
  if (freeBytes >= neededBytes) return ok(found);
  return fail(
    `SHM_NO_SPACE: ${found}`,
    `enlarge it (emptyDir sizeLimit, docker --shm-size) by ${bytesText(neededBytes - freeBytes)}, or lower RAG_SERVING_SHM_SLOTS or RAG_SERVING_SHM_SLOT_INPUT_BYTES`,
  );
}

export async function lookAtSpace({ config, found }: Parts): Promise<Outcome> {
  const { basePath, mode } = config.shm;
  if (mode === 'off') return skipped('RAG_SERVING_SHM_MODE is off');
  if (config.inference.endpoints.length > 1) return skipped('not used with several endpoints');
  await requireShmMount(basePath);
  return spaceVerdict(basePath, regionBytesOf(config, found.contract), await readMountSpace(basePath));
}

const WHY = {
  disabled: 'it is switched off',
  unsupported: 'the model server does not take regions of clients',
  'not-shared': 'the model server does not find our file: it has another /dev/shm',
  refused: 'the model server refuses the region',
  'in-use': 'the model server keeps an earlier region',
} as const satisfies Record<Refusal['reason'], string>;

export function refusalVerdict(reason: Refusal['reason'], mode: ShmMode): Outcome {
  const remedy =
    reason === 'not-shared'
      ? 'mount the same tmpfs at /dev/shm of both containers (an emptyDir of medium Memory, docker --ipc)'
      : 'start Triton 26.04 or newer with --allow-client-shm=true, or set RAG_SERVING_SHM_MODE=off';
  const found = `${WHY[reason]}: tensors would travel inside the messages`;
  return mode === 'required' ? fail(`${found}, and RAG_SERVING_SHM_MODE is required`, remedy) : warn(found, remedy);
}

/** A small region, given to the server, found in its list, and taken back however this ends. */
export async function lookAtVisibility(parts: Parts, signal: AbortSignal): Promise<Outcome> {
  const { config, engines, log } = parts;
  const engine = engines[0] as InferenceClient;
  const opened = await openSharedMemory(
    engine,
    {
      basePath: config.shm.basePath,
      // Another worker than the one that may run meanwhile; what a killed doctor left is swept by the next one.
      workerId: `doctor-${config.workerId}`,
      slots: 1,
      inputBytes: PROBE_AREA_BYTES,
      outputBytes: PROBE_AREA_BYTES,
      quarantineMs: CALL_TIMEOUT_MS,
      timeoutMs: CALL_TIMEOUT_MS,
    },
    log,
    signal,
  );
  if (opened.mode === 'inline') return refusalVerdict(opened.reason, config.shm.mode);
  const { memory } = opened;
  try {
    const listed = await engine.listSharedMemory({ timeoutMs: CALL_TIMEOUT_MS, signal });
    if (listed.some(({ name }) => name === memory.registration.regionName)) {
      return ok(`${engine.target} maps a region of ours`);
    }
    return fail(
      `${engine.target} took a region and does not list it`,
      'see that one model server is behind the address',
    );
  } catch (error) {
    if (!isServingError(error, 'INFERENCE_UNSUPPORTED')) throw error;
    return ok(`${engine.target} takes a region of ours`);
  } finally {
    await memory.close(AbortSignal.timeout(CALL_TIMEOUT_MS));
  }
}
