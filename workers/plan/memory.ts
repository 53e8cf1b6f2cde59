/** Shared memory, host memory and GPU memory of one pod. Pure. */
import { bytesPerVector } from '../../src/kserve/contract.ts';
import { layoutFor } from '../../src/shm/layout.ts';
import { count, type Figure, figure } from './figure.ts';
import { gpuMemoryBytes, type WorkerFacts, type Workload } from './workload.ts';

const MIB = 2 ** 20;
/** Node, its code and the libraries of one worker before the first chunk; see docs/benchmarks/memory.json. */
const WORKER_BASE_BYTES = 200 * MIB;
/** A message in memory is there as bytes, as text and as what was parsed. */
const MESSAGE_COPIES = 3;
/** What a CUDA context and cuBLAS take before a model is loaded. */
const CUDA_CONTEXT_BYTES = 512 * MIB;
/** Hidden states that an encoder layer holds at once, as multiples of tokens × hidden size: inputs, Q, K, V, 4 × feed-forward. */
const STATES_PER_LAYER = 9;
const MODEL_TOKENS = 512;

/** Of the worker at most, shared memory included. */
export function workerMemoryBytes(maxInFlightBytes: number, regionBytes: number): number {
  return WORKER_BASE_BYTES + MESSAGE_COPIES * maxInFlightBytes + regionBytes;
}

export type MemoryPlan = {
  readonly figures: readonly Figure[];
  readonly warnings: readonly string[];
  readonly shmBytes: number;
  readonly workerBytes: number;
};

export function planMemory(load: Workload, worker: WorkerFacts): MemoryPlan {
  const vectorBytes = bytesPerVector(load);
  const outputBytes = worker.batchSize * vectorBytes;
  const region = layoutFor({ slots: worker.slots, inputBytes: worker.slotInputBytes, outputBytes }).regionBytes;
  const batchBytes = worker.batchSize * (load.textBytes + 4);
  const host = workerMemoryBytes(worker.maxInFlightBytes, region);
  const weights = load.modelParameters * 2;
  const states = worker.batchSize * MODEL_TOKENS * load.dims * STATES_PER_LAYER * 2;
  const gpu = CUDA_CONTEXT_BYTES + weights + states;
  const budget = Math.min(worker.maxStaticVramBytes, gpuMemoryBytes[load.gpu] * worker.vramMaxUtilizationRatio);
  const figures = [
    figure(
      'slots',
      worker.slots,
      'slots',
      'RAG_SERVING_SHM_SLOTS: one batch computed, one waiting at the server, two packed or read',
    ),
    figure(
      'shared memory of a pod',
      region,
      'bytes',
      `${worker.slots} × (${count(worker.slotInputBytes)} of texts + ${worker.batchSize} × ${count(vectorBytes)} of vectors), whole pages`,
    ),
    figure('texts of a full batch', batchBytes, 'bytes', `${worker.batchSize} × (${count(load.textBytes)} + 4)`),
    figure(
      'memory of the worker',
      host,
      'bytes',
      `${WORKER_BASE_BYTES / MIB} MiB + ${MESSAGE_COPIES} × RAG_SERVING_MAX_IN_FLIGHT_BYTES (${count(worker.maxInFlightBytes)}) + shared memory`,
    ),
    figure(
      'GPU memory, at most',
      gpu,
      'bytes',
      `${CUDA_CONTEXT_BYTES / MIB} MiB context + ${count(load.modelParameters)} parameters × 2 + ${worker.batchSize} × ${MODEL_TOKENS} tokens × ${load.dims} × ${STATES_PER_LAYER} × 2`,
    ),
  ];
  const warnings = [
    ...(batchBytes > worker.slotInputBytes
      ? [
          `a full batch of such texts (${count(batchBytes)} bytes) does not fit into a slot: batches close early; set RAG_SERVING_SHM_SLOT_INPUT_BYTES to ${nextPowerOfTwo(batchBytes)}`,
        ]
      : []),
    ...(gpu > budget
      ? [
          `GPU memory may pass the budget of ${count(budget)} bytes (RAG_SERVING_MAX_STATIC_VRAM_BYTES, RAG_SERVING_VRAM_MAX_UTILIZATION_RATIO): take smaller batches or a larger GPU, and measure`,
        ]
      : []),
  ];
  return { figures, warnings, shmBytes: region, workerBytes: host };
}

function nextPowerOfTwo(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(bytes));
}
