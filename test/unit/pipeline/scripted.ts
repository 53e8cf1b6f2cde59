/**
 * Scripted stand-ins for the pipeline's neighbours, for faults and moments that real ones cannot be made to show on
 * command: a transport that fails where a text says so, a store that answers when told to.
 */
import { systemClock } from '../../../src/clock.ts';
import { ServingError } from '../../../src/errors.ts';
import type { DeadLetter, DeadLetters } from '../../../src/kafka/dead-letter.ts';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import { encodeFp16 } from '../../../src/kserve/fp16.ts';
import { defaultFailurePolicy } from '../../../src/pipeline/failure-policy.ts';
import { Holds } from '../../../src/pipeline/holds.ts';
import { unobserved } from '../../../src/pipeline/observer.ts';
import type { Surroundings } from '../../../src/pipeline/persevere.ts';
import type { EmbedTransport } from '../../../src/pipeline/transport.ts';
import type { ChunkTraveller } from '../../../src/pipeline/traveller.ts';
import type { ChunkRecord, Deletion, RawMessage } from '../../../src/records/chunk.ts';
import type { Outcome } from '../../../src/records/outcome.ts';
import type { ChunkInFlight, DeletionInFlight } from '../../../src/records/travel.ts';
import type { RetryEntry } from '../../../src/retry/retry-queue.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

export const contract: VectorContract = {
  modelName: 'batch_embedder_ensemble',
  fingerprint: 'test',
  dims: 4,
  dtype: 'FP16',
  maxBatch: 256,
};

export function surroundings(holdLog: string[] = []): Surroundings {
  return {
    policy: {
      ...defaultFailurePolicy,
      outageBackoff: { baseMs: 1, maxMs: 2 },
      backpressureBackoff: { baseMs: 1, maxMs: 2 },
    },
    holds: new Holds({ pause: (r) => holdLog.push(`pause ${r}`), resume: (r) => holdLog.push(`resume ${r}`) }),
    observer: unobserved,
    log: silentLog,
    clock: systemClock,
  };
}

/** A vector that tells which text it belongs to. */
export function vectorOf(text: string): Uint8Array {
  const sum = [...text].reduce((total, char) => (total * 31 + (char.codePointAt(0) ?? 0)) % 1_000, 7);
  const values = [1, sum, text.length % 100, 1];
  const norm = Math.hypot(...values);
  return encodeFp16(Float32Array.from(values, (value) => value / norm));
}

export type Script = (texts: readonly string[], call: number) => Promise<void> | void;
export type RowScript = (text: string) => Uint8Array | undefined;

/** Embeds by `vectorOf`; the script may throw or wait first, the row script may give another vector. */
export function scriptedTransport(script: Script = () => {}, rowScript: RowScript = () => undefined) {
  const calls: string[][] = [];
  const transport: EmbedTransport = {
    async embed(texts, _, signal) {
      calls.push([...texts]);
      await script(texts, calls.length);
      signal.throwIfAborted();
      return { vectors: Buffer.concat(texts.map((text) => rowScript(text) ?? vectorOf(text))), transport: 'inline' };
    },
  };
  return { transport, calls };
}

export const rejected = () => new ServingError('INFERENCE_REJECTED', 'the model refuses the batch');
export const failed = () => new ServingError('INFERENCE_FAILED', 'the model failed');
export const late = () => new ServingError('INFERENCE_DEADLINE', 'no answer in time');
export const unavailable = () => new ServingError('INFERENCE_UNAVAILABLE', 'no connection');

export class ScriptedDeadLetters implements DeadLetters {
  readonly letters: DeadLetter[] = [];
  failures = 0;

  async send(letters: readonly DeadLetter[]): Promise<void> {
    if (this.failures-- > 0) throw new ServingError('KAFKA_UNAVAILABLE', 'no broker');
    this.letters.push(...letters);
  }

  async close(): Promise<void> {}
}

export class ScriptedRetries {
  readonly entries: RetryEntry[] = [];
  failures = 0;
  onCall: () => void = () => {};

  async handOver(entries: readonly RetryEntry[]): Promise<void> {
    this.onCall();
    if (this.failures-- > 0) throw new ServingError('RETRY_QUEUE_UNAVAILABLE', 'no Redis');
    this.entries.push(...entries);
  }
}

let nextOffset = 0n;

export function rawAt(partition: number, offset = nextOffset++): RawMessage {
  return { source: { topic: 'chunks', partition, offset }, key: null, value: null, headers: [], timestampMs: 0 };
}

export type Settled<R> = { readonly record: R; readonly outcomes: Outcome[] };

export function chunkRecord(fields: Partial<ChunkRecord> & { chunkId: string }, partition = 0): Settled<ChunkInFlight> {
  const outcomes: Outcome[] = [];
  const raw = rawAt(partition);
  const chunk: ChunkRecord = {
    documentId: 'doc',
    text: `text of ${fields.chunkId}`,
    truncated: false,
    tenantId: undefined,
    version: undefined,
    metadata: undefined,
    source: raw.source,
    batchIndex: undefined,
    ...fields,
  };
  return { record: { kind: 'chunk', chunk, raw, settle: (outcome) => outcomes.push(outcome) }, outcomes };
}

export function deletionRecord(deletion: Omit<Deletion, 'source'>, partition = 0): Settled<DeletionInFlight> {
  const outcomes: Outcome[] = [];
  const raw = rawAt(partition);
  return {
    record: {
      kind: 'deletion',
      deletion: { ...deletion, source: raw.source },
      raw,
      settle: (outcome) => outcomes.push(outcome),
    },
    outcomes,
  };
}

export function travellers(...texts: string[]): ChunkTraveller[] {
  return texts.map((text, i) => ({
    record: chunkRecord({ chunkId: `c${i}`, text }).record,
    bytes: text.length + 4,
    state: 'sent',
  }));
}
