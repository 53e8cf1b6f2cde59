/**
 * Texts and vectors in a leased slot of shared memory; the gRPC messages carry only where they are.
 *
 * A slot whose call ended without an answer is quarantined: the engine may still write into it. To have it back the
 * region is registered anew, which a server accepts only once no running request uses it; meanwhile no call begins.
 */
import { isServingError, type ServingError } from '../errors.ts';
import type { InferenceClient } from '../inference/client.ts';
import { writeBytes } from '../kserve/bytes.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import type { Refusal } from '../shm/registration.ts';
import type { SharedMemory } from '../shm/shared-memory.ts';
import type { QuarantineReason, SlotLease } from '../shm/slot-pool.ts';
import { embeddingOf, embeddingRequest } from './embedding-tensors.ts';
import type { EmbeddedBatch, EmbedTransport } from './transport.ts';

export type SharedMemoryTransportOptions = {
  readonly client: InferenceClient;
  readonly contract: VectorContract;
  readonly timeoutMs: number;
  readonly memory: SharedMemory;
  /** Takes over when the engine comes back from a restart without shared memory. */
  readonly inline: EmbedTransport;
  /** Told before that; throws where shared memory is required. */
  readonly onRefused: (refusal: Refusal) => void;
};

export class SharedMemoryTransport implements EmbedTransport {
  readonly #options: SharedMemoryTransportOptions;
  #inlineOnly = false;

  constructor(options: SharedMemoryTransportOptions) {
    this.#options = options;
  }

  async embed(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedBatch> {
    const { memory, inline } = this.#options;
    if (!this.#inlineOnly) await this.#recoverSlots(signal);
    if (this.#inlineOnly) return inline.embed(texts, signal);
    const seenEpoch = memory.registration.epoch;
    try {
      return await this.#embedInSlot(texts, signal);
    } catch (error) {
      if (!isServingError(error, 'SHM_REGION_UNKNOWN', 'SHM_UNSUPPORTED')) throw error;
      // The engine has restarted and forgotten the region, or takes none any more: its answer to the registration says which.
      await this.#register(seenEpoch, signal);
      return this.#inlineOnly ? inline.embed(texts, signal) : this.#embedInSlot(texts, signal);
    }
  }

  async #embedInSlot(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedBatch> {
    const { memory, inline } = this.#options;
    const lease = await memory.pool.acquire(signal);
    if (this.#inlineOnly) {
      lease.release();
      return inline.embed(texts, signal);
    }
    try {
      const vectors = await this.#infer(lease, texts, signal);
      lease.release();
      return { vectors, transport: 'shared_memory' };
    } catch (error) {
      const reason = isServingError(error) ? unansweredReason(error) : undefined;
      if (reason === undefined) lease.release();
      else lease.quarantine(reason);
      throw error;
    }
  }

  async #infer(lease: SlotLease, texts: readonly string[], signal: AbortSignal): Promise<Uint8Array> {
    const { client, contract, timeoutMs, memory } = this.#options;
    const slot = memory.slotOf(lease);
    const input = memory.view(slot.input);
    let byteSize = 0;
    for (const text of texts) byteSize = writeBytes(input, byteSize, text);
    const outputBytes = texts.length * bytesPerVector(contract);
    const request = embeddingRequest(
      contract,
      texts.length,
      { kind: 'region', range: memory.rangeOf({ offset: slot.input.offset, byteSize }) },
      memory.rangeOf({ offset: slot.output.offset, byteSize: outputBytes }),
    );
    const { data } = embeddingOf(await client.infer(request, { timeoutMs, signal }), contract, texts.length);
    if (data.kind === 'inline') return data.bytes;
    // A copy, so that the slot goes to the next batch while the store still works on this one.
    return Uint8Array.from(memory.view({ offset: slot.output.offset, byteSize: outputBytes }));
  }

  async #recoverSlots(signal: AbortSignal): Promise<void> {
    const { pool, registration } = this.#options.memory;
    if (pool.wantsRegistration) await this.#register(registration.epoch, signal);
  }

  async #register(seenEpoch: number, signal: AbortSignal): Promise<void> {
    const { memory, onRefused } = this.#options;
    const mode = await memory.registration.ensureRegistered(seenEpoch, signal);
    if (mode.mode !== 'inline' || this.#inlineOnly) return;
    onRefused(mode);
    this.#inlineOnly = true;
    // No slot is used any more: whoever waits for one goes on without.
    memory.pool.reclaimQuarantined();
  }
}

/** Undefined when the engine has answered, so that it is done with the slot. */
function unansweredReason(error: ServingError): QuarantineReason | undefined {
  switch (error.code) {
    case 'INFERENCE_DEADLINE':
      return 'deadline';
    case 'INFERENCE_CANCELLED':
      return 'cancelled';
    case 'INFERENCE_UNAVAILABLE':
      return 'disconnected';
    default:
      return undefined;
  }
}
