import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { Pipeline } from '../../../src/pipeline/pipeline.ts';
import type { RecordInFlight } from '../../../src/records/travel.ts';
import {
  chunkRecord,
  contract,
  deletionRecord,
  rawAt,
  rejected,
  type Script,
  ScriptedDeadLetters,
  ScriptedRetries,
  scriptedTransport,
  surroundings,
} from './scripted.ts';
import { ScriptedSink } from './scripted-sink.ts';

type Given = { script?: Script; maxItems?: number; retries?: ScriptedRetries };

function openPipeline({ script, maxItems = 4, retries }: Given = {}) {
  const sink = new ScriptedSink();
  const deadLetters = new ScriptedDeadLetters();
  const fatal: ServingError[] = [];
  const { transport, calls } = scriptedTransport(script);
  const pipeline = new Pipeline({
    transport,
    contract,
    norm: 'unit',
    timeoutMs: 1_000,
    sink,
    deadLetters,
    retries,
    surroundings: surroundings(),
    limits: { maxItems, maxBytes: 10_000, maxWaitMs: 5 },
    batchesInFlight: 2,
    persistConcurrency: 2,
    storeText: true,
    onFatal: (error) => fatal.push(error),
  });
  return { pipeline, sink, deadLetters, fatal, calls };
}

const idle = (pipeline: Pipeline) =>
  vi.waitFor(() => expect(pipeline.inFlight).toBe(0), { timeout: 5_000, interval: 2 });

describe('Pipeline', () => {
  it('stores every chunk and settles it as persisted, by count and by age', async () => {
    const { pipeline, sink, calls } = openPipeline();
    const chunks = Array.from({ length: 10 }, (_, i) => chunkRecord({ chunkId: `c${i}`, documentId: `d${i}` }));
    pipeline.accept(chunks.map(({ record }) => record));
    await idle(pipeline);
    expect(calls.map(({ length }) => length)).toEqual([4, 4, 2]);
    expect(sink.rows.size).toBe(10);
    for (const { outcomes } of chunks) expect(outcomes).toEqual([{ kind: 'persisted' }]);
  });

  it('a text of many times the same id ends as the newest one', async () => {
    const { pipeline, sink } = openPipeline();
    const revisions = Array.from({ length: 6 }, (_, i) => chunkRecord({ chunkId: 'd', text: `revision ${i}` }));
    pipeline.accept(revisions.map(({ record }) => record));
    await idle(pipeline);
    expect(sink.rows.get('d')?.text).toBe('revision 5');
    const kinds = revisions.map(({ outcomes }) => outcomes.map(({ kind }) => kind).join());
    expect(kinds).toEqual(['persisted', 'superseded', 'superseded', 'superseded', 'superseded', 'persisted']);
  });

  it('a deletion waits for the older update and is not undone by it', async () => {
    const { pipeline, sink } = openPipeline();
    pipeline.accept([
      chunkRecord({ chunkId: 'a', documentId: 'doc-1' }).record,
      deletionRecord({ scope: 'document', id: 'doc-1' }).record,
      chunkRecord({ chunkId: 'b', documentId: 'doc-1' }).record,
      deletionRecord({ scope: 'chunk', id: 'c' }).record,
    ]);
    await idle(pipeline);
    expect([...sink.rows.keys()]).toEqual(['b']);
    expect(sink.log.filter((line) => !line.endsWith(' c'))).toEqual(['write a', 'delete doc-1', 'write b']);
  });

  it('a bad message goes to the dead letters and settles only when they have it', async () => {
    const { pipeline, deadLetters } = openPipeline();
    deadLetters.failures = 3;
    const outcomes: string[] = [];
    const error = new ServingError('CHUNK_INVALID', 'field "text" is missing');
    const reject: RecordInFlight = {
      kind: 'reject',
      error,
      raw: rawAt(0),
      index: undefined,
      settle: ({ kind }) => outcomes.push(`${kind} ${deadLetters.letters.length}`),
    };
    pipeline.accept([reject]);
    await idle(pipeline);
    expect(outcomes).toEqual(['dead-lettered 1']);
    expect(deadLetters.letters[0]).toMatchObject({ stage: 'decode', attempts: 1, error: { code: 'CHUNK_INVALID' } });
  });

  it('a chunk that the model rejects is dead-lettered alone, the others are stored', async () => {
    const { pipeline, sink, deadLetters } = openPipeline({
      script: (texts) => {
        if (texts.includes('BAD')) throw rejected();
      },
    });
    const bad = chunkRecord({ chunkId: 'bad', text: 'BAD' });
    pipeline.accept([...['a', 'b', 'c'].map((id) => chunkRecord({ chunkId: id }).record), bad.record]);
    await idle(pipeline);
    expect([...sink.rows.keys()].sort()).toEqual(['a', 'b', 'c']);
    expect(bad.outcomes).toMatchObject([{ kind: 'dead-lettered', error: { code: 'INFERENCE_REJECTED' } }]);
    expect(deadLetters.letters).toMatchObject([{ stage: 'embed' }]);
  });

  it('a row that the store refuses is dead-lettered alone (K20)', async () => {
    const { pipeline, sink, deadLetters } = openPipeline({ maxItems: 10 });
    sink.refuse = 'c4';
    const chunks = Array.from({ length: 10 }, (_, i) => chunkRecord({ chunkId: `c${i}` }));
    pipeline.accept(chunks.map(({ record }) => record));
    await idle(pipeline);
    expect(sink.rows.size).toBe(9);
    expect(deadLetters.letters).toMatchObject([{ stage: 'persist', error: { code: 'SINK_ROW_REFUSED' } }]);
    expect(chunks[4]?.outcomes).toMatchObject([{ kind: 'dead-lettered' }]);
  });

  const refusesBad = (texts: readonly string[]) => {
    if (texts.includes('BAD')) throw rejected();
  };

  it('with a retry queue a refused chunk is handed over before its offset counts as done, whatever the queue is up to', async () => {
    const retries = new ScriptedRetries();
    retries.failures = 3;
    const { pipeline, deadLetters } = openPipeline({ script: refusesBad, retries });
    const bad = chunkRecord({ chunkId: 'bad', text: 'BAD', batchIndex: 4 });
    const settledAtCall: number[] = [];
    retries.onCall = () => settledAtCall.push(bad.outcomes.length);
    pipeline.accept([bad.record]);
    await idle(pipeline);
    expect(settledAtCall).toEqual([0, 0, 0, 0]);
    expect(bad.outcomes).toMatchObject([{ kind: 'handed-over', error: { code: 'INFERENCE_REJECTED' } }]);
    expect(retries.entries).toMatchObject([{ chunkId: 'bad', index: 4, stage: 'embed', raw: bad.record.raw }]);
    expect(deadLetters.letters).toEqual([]);
  });

  it('a retry that is refused goes back to its queue, on its last attempt to the dead letters (K21)', async () => {
    const retries = new ScriptedRetries();
    const { pipeline, deadLetters } = openPipeline({ script: refusesBad, retries });
    const again = chunkRecord({ chunkId: 'again', text: 'BAD' }, 1);
    const last = chunkRecord({ chunkId: 'last', text: 'BAD' }, 1);
    pipeline.accept([
      { ...again.record, retry: { attempts: 2, last: false } },
      { ...last.record, retry: { attempts: 4, last: true } },
    ]);
    await idle(pipeline);
    expect(again.outcomes).toMatchObject([{ kind: 'handed-over', error: { code: 'INFERENCE_REJECTED' } }]);
    expect(last.outcomes).toMatchObject([{ kind: 'dead-lettered' }]);
    expect(retries.entries).toEqual([]);
    expect(deadLetters.letters).toMatchObject([{ stage: 'embed', attempts: 5 }]);
  });

  it('a retry does not leave with a partition that it was read from long ago', async () => {
    let open = () => {};
    const barrier = new Promise<void>((resolve) => (open = resolve));
    const { pipeline, sink } = openPipeline({ maxItems: 1, script: () => barrier });
    const first = ['a', 'b'].map((chunkId) => chunkRecord({ chunkId }, 7).record);
    const retry = chunkRecord({ chunkId: 'retry' }, 7);
    pipeline.accept([...first, { ...retry.record, retry: { attempts: 1, last: false } }]);
    pipeline.revoke([{ topic: 'chunks', partition: 7 }]);
    open();
    await idle(pipeline);
    expect(retry.outcomes).toEqual([{ kind: 'persisted' }]);
    expect(sink.rows.has('retry')).toBe(true);
  });

  it('a store that is away keeps every chunk until it is back', async () => {
    const { pipeline, sink, deadLetters } = openPipeline();
    sink.failures = 7;
    pipeline.accept(Array.from({ length: 8 }, (_, i) => chunkRecord({ chunkId: `c${i}` }).record));
    await idle(pipeline);
    expect(sink.rows.size).toBe(8);
    expect(deadLetters.letters).toEqual([]);
  });

  it('while the store is away no more is embedded ahead of it than it would take next', async () => {
    let back = () => {};
    const { pipeline, sink, calls } = openPipeline({ maxItems: 1 });
    sink.barrier = new Promise<void>((resolve) => (back = resolve));
    pipeline.accept(Array.from({ length: 40 }, (_, i) => chunkRecord({ chunkId: `c${i}` }).record));
    await vi.waitFor(() => expect(calls).toHaveLength(6));
    // Long enough for more, if there were any.
    await sleep(50);
    expect(calls).toHaveLength(6);
    back();
    await idle(pipeline);
    expect(sink.rows.size).toBe(40);
  });

  it('a partition that leaves drops what has not been sent, and frees what waited behind it', async () => {
    let open = () => {};
    const barrier = new Promise<void>((resolve) => (open = resolve));
    const { pipeline, sink } = openPipeline({ maxItems: 1, script: () => barrier });
    const sent = [0, 1].map((i) => chunkRecord({ chunkId: `sent ${i}` }, 7));
    const packed = chunkRecord({ chunkId: 'packed' }, 7);
    const held = chunkRecord({ chunkId: 'sent 0' }, 7);
    const kept = chunkRecord({ chunkId: 'packed' }, 8);
    pipeline.accept([...sent, packed, held, kept].map(({ record }) => record));
    await sleep(10);
    pipeline.revoke([{ topic: 'chunks', partition: 7 }]);
    expect([packed, held].map(({ outcomes }) => outcomes)).toEqual([[{ kind: 'abandoned' }], [{ kind: 'abandoned' }]]);
    open();
    await idle(pipeline);
    expect(kept.outcomes).toEqual([{ kind: 'persisted' }]);
    expect([...sink.rows.keys()].sort()).toEqual(['packed', 'sent 0', 'sent 1']);
  });

  it('drains: closes the open batch at once and waits for all', async () => {
    const { pipeline, sink } = openPipeline({ maxItems: 100 });
    pipeline.accept(['a', 'b', 'a'].map((chunkId) => chunkRecord({ chunkId }).record));
    expect(await pipeline.drain(new AbortController().signal)).toBe(0);
    expect(sink.rows.size).toBe(2);
  });

  it('drains within its budget: what will not fit is abandoned, not stored late and not settled twice', async () => {
    const { pipeline, sink, fatal } = openPipeline({ script: () => sleep(200) });
    const chunks = Array.from({ length: 6 }, (_, i) => chunkRecord({ chunkId: `c${i}` }));
    pipeline.accept(chunks.map(({ record }) => record));
    expect(await pipeline.drain(AbortSignal.timeout(20))).toBe(6);
    await sleep(250);
    for (const { outcomes } of chunks) expect(outcomes).toEqual([{ kind: 'abandoned' }]);
    expect(sink.rows.size).toBe(0);
    expect(fatal).toEqual([]);
    const late = chunkRecord({ chunkId: 'late' });
    pipeline.accept([late.record]);
    expect(late.outcomes).toEqual([{ kind: 'abandoned' }]);
  });

  it('tells of an error that no retry heals, and settles nothing for it', async () => {
    const { pipeline, fatal } = openPipeline({
      script: () => {
        throw new ServingError('MODEL_CONTRACT_MISMATCH', 'the model gives 768 dims, the collection has 384');
      },
    });
    const chunk = chunkRecord({ chunkId: 'a' });
    pipeline.accept([chunk.record]);
    await vi.waitFor(() => expect(fatal).toMatchObject([{ code: 'MODEL_CONTRACT_MISMATCH' }]));
    expect(chunk.outcomes).toEqual([]);
  });
});
