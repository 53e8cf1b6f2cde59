/** The promises of src/sinks/sink.ts as tests: every sink runs all of them against its real store. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { VectorContract } from '../../src/kserve/contract.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { itIsInspected, itIsNotInspectedBeforeItIsThere } from './sink-contract-inspect.ts';
import { itIsReadAsTheNewestRevision, itKeepsTheNewestRevision } from './sink-contract-revisions.ts';
import { itRemembersDeletions, itRemembersDeletionsOverAClose } from './sink-contract-tombstones.ts';
import { contractOf, DIMS, deletionOf, rowOf, vectorOf } from './sink-rows.ts';

export type SinkHarnessOptions = {
  readonly allowMixedFingerprints?: boolean;
  readonly tombstoneRetentionMs?: number;
};

export type SinkHarness = {
  /** A sink on the named collection, not open yet; the same name again is the same collection. */
  readonly create: (collection: string, options?: SinkHarnessOptions) => Promise<Sink>;
  /** Names of all that the store holds of a collection. */
  readonly traces: (collection: string) => Promise<readonly string[]>;
  /** Puts something of somebody else where the collection would be; absent for a store that cannot have one. */
  readonly plantForeign?: (collection: string) => Promise<void>;
  /** False for a sink that keeps nothing beyond its own life. */
  readonly durable: boolean;
  /** A log keeps what is superseded and its readers judge, so the promises about what `write` and `remove` answer do not hold. */
  readonly keeps?: 'state' | 'log';
};

let collections = 0;

export function freshCollection(): string {
  return `contract-${process.pid}-${++collections}`;
}

export function describeSinkContract(name: string, harness: SinkHarness): void {
  async function open(
    contract: VectorContract = contractOf(),
    collection = freshCollection(),
    options: SinkHarnessOptions = {},
  ): Promise<Sink> {
    const sink = await harness.create(collection, options);
    onTestFinished(() => sink.close());
    await sink.open(contract);
    return sink;
  }

  describe(`${name} keeps the promises of a sink`, () => {
    it('gives back what it was given', async () => {
      const sink = await open();
      const row = rowOf('doc-7#3', {
        ...{ documentId: 'doc-7', tenantId: 'acme', text: 'plain text', truncated: true, version: 12 },
        metadata: { lang: 'en', tags: ['a', { b: null }], n: 1.5 },
        ...{ partition: 3, offset: 41n },
      });
      expect(await sink.write([row])).toEqual([{ kind: 'stored' }]);
      expect(await sink.fetch(['doc-7#3', 'not-there'])).toEqual([{ ...row, fingerprint: 'fp-one' }]);
      expect(await sink.count()).toBe(1);
      await sink.ping();
    });

    it('keeps no text and an empty text apart, and drops fields that the newer revision lacks', async () => {
      const sink = await open();
      await sink.write([
        rowOf('a', { text: '', metadata: {} }),
        rowOf('b', { text: 'old', tenantId: 't', version: 3 }),
      ]);
      await sink.write([rowOf('b', { offset: 1n })]);
      const [a, b] = await sink.fetch(['a', 'b']);
      expect([a?.text, a?.metadata, a?.tenantId]).toEqual(['', {}, undefined]);
      expect([b?.text, b?.tenantId, b?.version]).toEqual([undefined, undefined, undefined]);
    });

    it('takes the same rows again without a change', async () => {
      const sink = await open();
      const rows = [rowOf('a', { offset: 5n }), rowOf('b', { offset: 6n, version: 2 })];
      await sink.write(rows);
      const before = await sink.fetch(['a', 'b']);
      expect(await sink.write(rows)).toEqual([{ kind: 'stored' }, { kind: 'stored' }]);
      expect(await sink.fetch(['a', 'b'])).toEqual(before);
      expect(await sink.count()).toBe(2);
    });

    it('does nothing for an empty call', async () => {
      const sink = await open();
      expect(await sink.write([])).toEqual([]);
      expect(await sink.remove([])).toEqual([]);
      expect(await sink.fetch([])).toEqual([]);
      expect(await sink.count()).toBe(0);
    });

    itIsNotInspectedBeforeItIsThere(harness, freshCollection);
    if (harness.keeps === 'log') {
      itIsReadAsTheNewestRevision(() => open());
    } else {
      itKeepsTheNewestRevision(() => open());
      itRemembersDeletions((options) => open(contractOf(), freshCollection(), options));
    }

    const patterns = [0x3c00, 0xbc00, 0x0001, 0x03ff, 0x0400, 0x3555, 0x7bff, 0x8000];
    it('stores FP16 bit for bit, little-endian (S05)', async () => {
      const sink = await open();
      const vector = new Uint8Array(Uint16Array.from(patterns).buffer);
      await sink.write([rowOf('a', { vector })]);
      const [row] = await sink.fetch(['a']);
      expect(row?.vector).toEqual(vector);
      expect([row?.vector[0], row?.vector[1]]).toEqual([0x00, 0x3c]);
    });

    it('stores FP32 bit for bit, little-endian (S05)', async () => {
      const sink = await open(contractOf('FP32'));
      const vector = new Uint8Array(Float32Array.from([1, -2, 0.5, 1e-45, 3.4e38, -0, 0.1, 1 / 3]).buffer);
      await sink.write([rowOf('a', { vector })]);
      const [row] = await sink.fetch(['a']);
      expect(row?.vector).toEqual(vector);
      expect([...(row?.vector.subarray(0, 4) ?? [])]).toEqual([0x00, 0x00, 0x80, 0x3f]);
    });

    it('reads a vector that stands at an odd address of a larger buffer, and keeps its own copy', async () => {
      const sink = await open();
      const slot = new Uint8Array(64).fill(0xaa);
      slot.set(vectorOf([1, 2, 3]), 3);
      const pending = sink.write([rowOf('a', { vector: slot.subarray(3, 3 + DIMS * 2) })]);
      slot.fill(0xff);
      await pending;
      expect((await sink.fetch(['a']))[0]?.vector).toEqual(vectorOf([1, 2, 3]));
    });

    it('takes ids and metadata of any well-formed text: quotes, NUL, emoji, 512 bytes (P03)', async () => {
      const sink = await open();
      const ids = [
        "it's",
        'a"b\\c',
        "'; DROP TABLE x; --",
        'a\u0000b',
        'a',
        '日本語🎉',
        '%_*?[x]',
        'line\nbreak',
        ' ',
        'é'.repeat(256),
        '__proto__',
      ];
      const rows = ids.map((id, index) =>
        rowOf(id, {
          documentId: id,
          offset: BigInt(index),
          text: `t\u0000${id}`,
          metadata: { 'k\u0000': id, constructor: '\ud83d' },
        }),
      );
      expect((await sink.write(rows)).every(({ kind }) => kind === 'stored')).toBe(true);
      expect(await sink.count()).toBe(ids.length);
      expect(await sink.fetch(ids)).toEqual(rows.map((row) => ({ ...row, fingerprint: 'fp-one' })));
      await sink.remove([deletionOf('chunk', "it's", 99n), deletionOf('document', 'a\u0000b', 99n)]);
      expect((await sink.fetch(ids)).map((row) => row.chunkId)).toEqual(
        ids.filter((id) => id !== "it's" && id !== 'a\u0000b'),
      );
    });

    it('refuses a row that no store may hold and stores the rest of the call (K20, P01)', async () => {
      const sink = await open();
      const outcomes = await sink.write([
        rowOf('ok1'),
        rowOf('short', { vector: new Uint8Array(DIMS) }),
        rowOf('lone\ud83dsurrogate'),
        rowOf('half', { version: 1.5 }),
        rowOf('ok2'),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'refused', 'refused', 'refused', 'stored']);
      for (const outcome of outcomes) {
        if (outcome.kind === 'refused') expect(outcome.error.code).toBe('SINK_ROW_REFUSED');
      }
      expect(outcomes[1]).toMatchObject({
        error: { message: expect.stringMatching(/8 bytes.*8 dims of FP16 are 16/) },
      });
      expect(await sink.count()).toBe(2);
    });

    it('finds the nearest by cosine, best first', async () => {
      const sink = await open();
      await sink.write([
        rowOf('same', { vector: vectorOf([3, 0]), text: 'here', metadata: { n: 1 } }),
        rowOf('near', { vector: vectorOf([1, 1]) }),
        rowOf('across', { vector: vectorOf([0, 1]) }),
        rowOf('away', { vector: vectorOf([-1, 0]) }),
      ]);
      const query = Float32Array.from({ length: DIMS }, (_, i) => (i === 0 ? 1 : 0));
      const hits = await sink.search(query, 3);
      expect(hits.map((hit) => hit.chunkId)).toEqual(['same', 'near', 'across']);
      expect(hits[0]).toMatchObject({ documentId: 'doc', text: 'here', metadata: { n: 1 } });
      for (const [index, score] of [1, Math.SQRT1_2, 0].entries()) expect(hits[index]?.score).toBeCloseTo(score, 3);
      await expect(sink.search(new Float32Array(3), 1)).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    });

    it('finds the nearest of one tenant, whatever stands in its name, and of all without one', async () => {
      const sink = await open();
      const tenants = ['acme', 'ACME', "o'brien", 'a,b', '%', '日本'];
      await sink.write([rowOf('nobody'), ...tenants.map((tenantId) => rowOf(`of ${tenantId}`, { tenantId }))]);
      const query = Float32Array.from({ length: DIMS }, (_, i) => (i === 0 ? 1 : 0));
      for (const tenantId of tenants) {
        const hits = await sink.search(query, { limit: 20, tenantId });
        expect(hits.map((hit) => [hit.chunkId, hit.tenantId])).toEqual([[`of ${tenantId}`, tenantId]]);
      }
      expect(await sink.search(query, { limit: 20, tenantId: 'nobody' })).toEqual([]);
      expect(await sink.search(query, { limit: 20 })).toHaveLength(1 + tenants.length);
    });

    it('rejects when the caller has given up, with a class that keeps the chunk', async () => {
      const sink = await open();
      await expect(sink.write([rowOf('a')], AbortSignal.abort())).rejects.toMatchObject({ failureClass: 'outage' });
      expect(await sink.count()).toBe(0);
    });

    it('closes twice, and writes nothing before open or after close', async () => {
      const sink = await harness.create(freshCollection());
      await expect(sink.write([rowOf('a')])).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
      await sink.open(contractOf());
      await sink.close();
      await sink.close();
      await expect(sink.write([rowOf('a')])).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
      await expect(sink.ping()).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
    });
  });

  describe.runIf(harness.durable)(`${name} keeps its collection`, () => {
    const kept = freshCollection();
    if (harness.keeps !== 'log') {
      itRemembersDeletionsOverAClose(async (before) => {
        await before?.close();
        return open(contractOf(), kept);
      });
    }

    itIsInspected(harness, freshCollection, open);

    it('and its rows over a close', async () => {
      const collection = freshCollection();
      const first = await open(contractOf(), collection);
      await first.write([rowOf('a', { offset: 4n })]);
      await first.close();
      const second = await open(contractOf(), collection);
      expect(await second.count()).toBe(1);
      expect(await second.write([rowOf('a', { offset: 3n }), rowOf('b')])).toEqual([
        { kind: harness.keeps === 'log' ? 'stored' : 'superseded' },
        { kind: 'stored' },
      ]);
      expect((await second.fetch(['a']))[0]?.source.offset).toBe(4n);
    });

    const others: { readonly field: string; readonly contract: VectorContract; readonly says: RegExp }[] = [
      { field: 'dims (S05, S06)', contract: contractOf('FP16', { dims: 16 }), says: /dims 8\b.*dims 16\b/ },
      { field: 'dtype', contract: contractOf('FP32'), says: /FP16.*FP32/ },
      {
        field: 'fingerprint',
        contract: contractOf('FP16', { fingerprint: 'fp-two' }),
        says: /fp-one.*fp-two.*ALLOW_MIXED/,
      },
    ];
    for (const { field, contract, says } of others) {
      it(`and refuses a model with another ${field}, naming both and the remedy`, async () => {
        const collection = freshCollection();
        const first = await open(contractOf(), collection);
        // A log that nothing was written to says nothing.
        if (harness.keeps === 'log') await first.write([rowOf('a')]);
        const sink = await harness.create(collection);
        onTestFinished(() => sink.close());
        await expect(sink.open(contract)).rejects.toMatchObject({
          code: 'SINK_SCHEMA_MISMATCH',
          message: expect.stringMatching(says),
        });
        await expect(sink.write([rowOf('a')])).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
      });
    }

    it('and takes another fingerprint when told to, saying with each row whose it is', async () => {
      const collection = freshCollection();
      const first = await open(contractOf(), collection);
      await first.write([rowOf('a')]);
      await first.close();
      const sink = await harness.create(collection, { allowMixedFingerprints: true });
      onTestFinished(() => sink.close());
      await sink.open(contractOf('FP16', { fingerprint: 'fp-two' }));
      await sink.write([rowOf('b')]);
      expect((await sink.fetch(['a', 'b'])).map((row) => row.fingerprint)).toEqual(['fp-one', 'fp-two']);
    });
  });
}
