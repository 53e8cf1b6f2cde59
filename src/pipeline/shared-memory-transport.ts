/**
 * Texts and vectors in a leased slot of shared memory; the gRPC messages carry only where they are.
 *
 * A slot whose call ended without an answer is quarantined: the engine may still write into it. To have it back the
 * region is registered anew, which a server accepts only once no running request uses it; meanwhile no call begins.
 *
 * A server that does not take the region any more gets its batches inline, and is asked again: at intervals, and at once
 * when it may be another one, because the connection was lost. No slot is used until it has taken the region anew.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../clock.ts';
import { asServingError, isServingError, type ServingError } from '../errors.ts';
import type { InferenceClient } from '../inference/client.ts';
import { inferWithin } from '../inference/infer-span.ts';
import { writeBytes } from '../kserve/bytes.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import { embeddingOf, embeddingRequest } from '../kserve/embedding-tensors.ts';
import type { Refusal } from '../shm/registration.ts';
import type { SharedMemory } from '../shm/shared-memory.ts';
import type { QuarantineReason, SlotLease } from '../shm/slot-pool.ts';
import type { Span } from '../telemetry/tracing.ts';
import type { EmbeddedBatch, EmbedTransport } from './transport.ts';

export type SharedMemoryTransportOptions = {
  readonly client: InferenceClient;
  readonly contract: VectorContract;
  readonly timeoutMs: number;
  readonly memory: SharedMemory;
  /** Takes over while the engine does not take shared memory. */
  readonly inline: EmbedTransport;
  /** Told before that; throws where shared memory is required. */
  readonly onRefused: (refusal: Refusal) => void;
  /** Told when the engine has taken the region again. */
  readonly onReturned: () => void;
  /** A region that a request uses which does not end: wait for it, or go inline meanwhile. */
  readonly whileInUse: 'wait' | 'inline';
  /** How often an engine that gets its batches inline is asked again. */
  readonly askAgainMs: number;
  readonly clock?: Clock;
};

/** Until a server that did not answer the question is asked again. */
const AWAY_MS = 1_000;
const RECOVER_AGAIN_MS = 200;

export class SharedMemoryTransport implements EmbedTransport {
  readonly #options: SharedMemoryTransportOptions;
  readonly #clock: Clock;
  /** When to ask again; undefined while batches travel in shared memory. */
  #inlineUntilMs: number | undefined;
  #asking = false;
  #recovering = false;

  constructor(options: SharedMemoryTransportOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async embed(texts: readonly string[], span: Span | undefined, signal: AbortSignal): Promise<EmbeddedBatch> {
    if (!this.#isInline) await this.#recoverSlots(signal);
    if (this.#isInline) return this.#embedInline(texts, span, signal);
    const seenEpoch = this.#options.memory.registration.epoch;
    try {
      return await this.#embedInSlot(texts, span, signal);
    } catch (error) {
      if (!isServingError(error, 'SHM_REGION_UNKNOWN', 'SHM_UNSUPPORTED')) throw error;
      // The engine has restarted and forgotten the region, or takes none any more: its answer to the registration says which.
      await this.#register(seenEpoch, signal);
      return this.#isInline ? this.#embedInline(texts, span, signal) : this.#embedInSlot(texts, span, signal);
    }
  }

  get #isInline(): boolean {
    return this.#inlineUntilMs !== undefined;
  }

  async #embedInline(texts: readonly string[], span: Span | undefined, signal: AbortSignal): Promise<EmbeddedBatch> {
    if (this.#inlineUntilMs !== undefined && this.#clock.monotonicMs() >= this.#inlineUntilMs) void this.#askAgain();
    try {
      return await this.#options.inline.embed(texts, span, signal);
    } catch (error) {
      if (this.#isInline && isServingError(error, 'INFERENCE_UNAVAILABLE')) {
        this.#inlineUntilMs = this.#clock.monotonicMs();
      }
      throw error;
    }
  }

  async #embedInSlot(texts: readonly string[], span: Span | undefined, signal: AbortSignal): Promise<EmbeddedBatch> {
    const waiting = this.#options.memory.pool.acquire(signal);
    void this.#recoverForWaiters();
    const lease = await waiting;
    if (this.#isInline) {
      lease.release();
      return this.#embedInline(texts, span, signal);
    }
    try {
      const vectors = await this.#infer(lease, texts, span, signal);
      lease.release();
      return { vectors, transport: 'shared_memory' };
    } catch (error) {
      const reason = isServingError(error) ? unansweredReason(error) : undefined;
      if (reason === undefined) lease.release();
      else lease.quarantine(reason);
      void this.#recoverForWaiters();
      throw error;
    }
  }

  async #infer(
    lease: SlotLease,
    texts: readonly string[],
    span: Span | undefined,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
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
    const response = await inferWithin(span, client, request, { timeoutMs, signal });
    const { data } = embeddingOf(response, contract, texts.length);
    if (data.kind === 'inline') return data.bytes;
    // A copy, so that the slot goes to the next batch while the store still works on this one.
    return Uint8Array.from(memory.view({ offset: slot.output.offset, byteSize: outputBytes }));
  }

  async #recoverSlots(signal: AbortSignal): Promise<void> {
    const { memory, whileInUse } = this.#options;
    if (!memory.pool.wantsRegistration) return;
    try {
      await this.#register(memory.registration.epoch, signal);
    } catch (error) {
      // While calls of ours are open, they may be what uses it.
      const stuck = isServingError(error, 'SHM_REGION_EXISTS') && memory.pool.counts.leased === 0;
      if (!stuck || whileInUse === 'wait') throw error;
      this.#goInline({ reason: 'in-use', error });
    }
  }

  /** Who waits for a slot while none works asks nobody any more, and whoever lost the last one may not come again. */
  async #recoverForWaiters(): Promise<void> {
    if (this.#recovering) return;
    this.#recovering = true;
    const { pool } = this.#options.memory;
    const { signal } = new AbortController();
    while (pool.waiting > 0 && pool.counts.free + pool.counts.leased === 0 && !this.#isInline) {
      try {
        await this.#recoverSlots(signal);
      } catch (thrown) {
        // A refusal for good, or the end: the next call meets it as well, and tells it.
        const { failureClass } = asServingError(thrown);
        if (failureClass === 'fatal' || failureClass === 'caller') break;
      }
      await sleep(RECOVER_AGAIN_MS, undefined, { ref: false });
    }
    this.#recovering = false;
  }

  async #register(seenEpoch: number, signal: AbortSignal): Promise<void> {
    const mode = await this.#options.memory.registration.ensureRegistered(seenEpoch, signal);
    if (mode.mode === 'inline') this.#goInline(mode);
  }

  #goInline(refusal: Refusal): void {
    if (this.#isInline) return;
    const { memory, onRefused, askAgainMs } = this.#options;
    onRefused(refusal);
    this.#inlineUntilMs = this.#clock.monotonicMs() + askAgainMs;
    // No slot is used any more: whoever waits for one goes on without.
    memory.pool.reclaimQuarantined();
  }

  /** Beside the batches, none of which waits for the answer. */
  async #askAgain(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const { memory, onReturned, askAgainMs } = this.#options;
    let waitMs = askAgainMs;
    try {
      const { mode } = await memory.registration.ensureRegistered(memory.registration.epoch);
      if (mode === 'shared-memory') {
        this.#inlineUntilMs = undefined;
        onReturned();
        return;
      }
    } catch (error) {
      // The batches themselves say so. One that is back may be another one.
      if (isServingError(error) && unansweredReason(error) !== undefined) waitMs = Math.min(askAgainMs, AWAY_MS);
    } finally {
      this.#asking = false;
    }
    this.#inlineUntilMs = this.#clock.monotonicMs() + waitMs;
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
