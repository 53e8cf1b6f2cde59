/** What `inspect` promises: it tells what is there, leaves no trace, and only reads. */
import { expect, it, onTestFinished } from 'vitest';
import type { VectorContract } from '../../src/kserve/contract.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { SinkHarness, SinkHarnessOptions } from './sink-contract.ts';
import { contractOf, DIMS, deletionOf, rowOf, vectorOf } from './sink-rows.ts';

type Open = (contract?: VectorContract, collection?: string, options?: SinkHarnessOptions) => Promise<Sink>;

async function create({ create }: SinkHarness, collection: string): Promise<Sink> {
  const sink = await create(collection);
  onTestFinished(() => sink.close());
  return sink;
}

export function itIsNotInspectedBeforeItIsThere(harness: SinkHarness, freshCollection: () => string): void {
  it('inspects what is not there as undefined, leaves no trace, and opens afterwards', async () => {
    const collection = freshCollection();
    const sink = await create(harness, collection);
    const before = await harness.traces(collection);
    expect(await sink.inspect()).toBeUndefined();
    expect(await harness.traces(collection)).toEqual(before);
    await expect(sink.count()).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
    await sink.open(contractOf());
    expect(await sink.write([rowOf('a')])).toEqual([{ kind: 'stored' }]);
    await expect(sink.inspect()).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
  });
}

export function itIsInspected(harness: SinkHarness, freshCollection: () => string, open: Open): void {
  for (const dtype of ['FP16', 'FP32'] as const) {
    it(`and tells of it without a model, then reads and takes nothing (${dtype})`, async () => {
      const collection = freshCollection();
      const writer = await open(contractOf(dtype), collection);
      const rows = [
        rowOf('a', { vector: vectorOf([1, 0], dtype), text: 'here', metadata: { n: 1 } }),
        rowOf('b', { vector: vectorOf([0, 1], dtype), tenantId: 'acme' }),
      ];
      await writer.write(rows);
      const before = await harness.traces(collection);

      const sink = await create(harness, collection);
      expect(await sink.inspect()).toEqual({
        collection: expect.stringContaining(collection),
        setting: expect.stringMatching(/^RAG_SERVING_/),
        ...{ fingerprint: 'fp-one', dims: DIMS, dtype, rows: 2 },
        index: expect.stringMatching(/\w+/),
      });
      await sink.ping();
      expect(await sink.count()).toBe(2);
      expect(await sink.fetch(['b', 'a', 'not-there'])).toEqual(
        [rows[1], rows[0]].map((row) => ({ ...row, fingerprint: 'fp-one' })),
      );
      const query = Float32Array.from({ length: DIMS }, (_, i) => (i === 0 ? 1 : 0));
      const hits = await sink.search(query, 5);
      expect(hits.map(({ chunkId }) => chunkId)).toEqual(['a', 'b']);
      expect(hits[0]).toMatchObject({ text: 'here', metadata: { n: 1 }, score: expect.closeTo(1, 3) });
      await expect(sink.search(new Float32Array(3), 1)).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });

      const refused = { code: 'ARGUMENT_INVALID', message: expect.stringContaining('for reading') };
      await expect(sink.write([rowOf('c')])).rejects.toMatchObject(refused);
      await expect(sink.remove([deletionOf('chunk', 'a', 9n)])).rejects.toMatchObject(refused);
      await expect(sink.open(contractOf(dtype))).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
      expect(await harness.traces(collection)).toEqual(before);
      await writer.write([rowOf('d', { vector: vectorOf([0, 0, 1], dtype) })]);
      expect(await sink.count()).toBe(3);
      await sink.close();
      await expect(sink.count()).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
      await expect(sink.inspect()).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    });
  }

  it.runIf(harness.plantForeign !== undefined)('and one of somebody else is refused by name', async () => {
    const collection = freshCollection();
    await harness.plantForeign?.(collection);
    const sink = await create(harness, collection);
    await expect(sink.inspect()).rejects.toMatchObject({
      code: 'SINK_SCHEMA_MISMATCH',
      message: expect.stringContaining(collection),
    });
    await expect(sink.count()).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
  });

  it('and does not wait for a caller who has given up', async () => {
    const sink = await create(harness, freshCollection());
    await expect(sink.inspect(AbortSignal.abort())).rejects.toMatchObject({ failureClass: 'outage' });
  });
}
