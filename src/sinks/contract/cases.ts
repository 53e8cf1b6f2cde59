/**
 * The promises of a sink as cases that any test runner runs (`rag-inference-serving/sink-contract`): each has a name and a
 * function that rejects when the promise is broken. It takes a store that is really there.
 *
 *   for (const { name, run } of sinkContract({ create })) test(name, run);
 */
import { deepStrictEqual, match, rejects, strictEqual } from 'node:assert/strict';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { RowOutcome, Sink, SinkRow } from '../sink.ts';

export type SinkContractHarness = {
  /** A sink on the named collection, not open yet. The same name again is the same collection, with what it held. */
  readonly create: (collection: string) => Sink | Promise<Sink>;
  /** Names are this and a number; choose one that your store allows and no one else uses. */
  readonly collectionPrefix?: string;
};

export type SinkContractCase = { readonly name: string; run(): Promise<void> };

const DIMS = 8;
const FP16_ONE = 0x3c00;

export function sinkContract(harness: SinkContractHarness): readonly SinkContractCase[] {
  let collections = 0;
  const fresh = () => `${harness.collectionPrefix ?? `contract_${process.pid}_`}${++collections}`;
  const within = async (collection: string, use: (sink: Sink) => Promise<void>, contract = contractOf()) => {
    const sink = await harness.create(collection);
    try {
      await sink.open(contract);
      await use(sink);
    } finally {
      await sink.close();
    }
  };
  const test = (name: string, use: (sink: Sink) => Promise<void>): SinkContractCase => ({
    name,
    run: () => within(fresh(), use),
  });

  return [
    test('gives back what it was given, bit for bit', async (sink) => {
      const row = rowOf('doc-7#3', 41n, {
        ...{ documentId: 'doc-7', tenantId: 'acme', text: 'plain text', truncated: true, version: 12 },
        vector: new Uint8Array(Uint16Array.of(0x3c00, 0xbc00, 0x0001, 0x03ff, 0x0400, 0x3555, 0x7bff, 0x8000).buffer),
        metadata: { lang: 'en', tags: ['a', { b: null }], n: 1.5 },
      });
      deepStrictEqual(kinds(await sink.write([row])), ['stored']);
      deepStrictEqual(await sink.fetch(['doc-7#3', 'not-there']), [{ ...row, fingerprint: 'fp-one' }]);
      strictEqual(await sink.count(), 1);
      await sink.ping();
    }),
    test('takes the same rows again without a change, and an empty call', async (sink) => {
      const rows = [rowOf('a', 5n), rowOf('b', 6n, { version: 2 })];
      await sink.write(rows);
      const before = await sink.fetch(['a', 'b']);
      deepStrictEqual(kinds(await sink.write(rows)), ['stored', 'stored']);
      deepStrictEqual(await sink.fetch(['a', 'b']), before);
      deepStrictEqual([await sink.write([]), await sink.remove([])], [[], []]);
    }),
    test('an older revision never overwrites a newer one', async (sink) => {
      await sink.write([rowOf('a', 9n, { text: 'new' }), rowOf('b', 3n, { version: 7, text: 'new' })]);
      const outcomes = await sink.write([
        rowOf('a', 8n, { text: 'old' }),
        rowOf('b', 99n, { version: 6, text: 'old' }),
      ]);
      deepStrictEqual(kinds(outcomes), ['superseded', 'superseded']);
      deepStrictEqual(
        (await sink.fetch(['a', 'b'])).map(({ text }) => text),
        ['new', 'new'],
      );
    }),
    test('of one id that comes twice in a call the newest stays', async (sink) => {
      await sink.write([rowOf('a', 2n, { text: 'second' }), rowOf('a', 1n, { text: 'first' }), rowOf('b', 3n)]);
      strictEqual(await sink.count(), 2);
      strictEqual((await sink.fetch(['a']))[0]?.text, 'second');
    }),
    test('deletes a chunk and a document, and nothing else', async (sink) => {
      await sink.write([
        rowOf('a', 1n),
        rowOf('b', 2n, { documentId: 'other' }),
        rowOf('c', 3n, { documentId: 'other' }),
      ]);
      deepStrictEqual(kinds(await sink.remove([deletion('chunk', 'a', 9n)])), ['stored']);
      strictEqual(await sink.count(), 2);
      await sink.remove([deletion('document', 'other', 9n), deletion('chunk', 'never-there', 9n)]);
      strictEqual(await sink.count(), 0);
    }),
    test('a deletion is remembered: what was written before it and comes later stays out', async (sink) => {
      await sink.remove([deletion('chunk', 'a', 5n), deletion('document', 'gone', 5n)]);
      const outcomes = await sink.write([
        rowOf('a', 4n),
        rowOf('b', 4n, { documentId: 'gone' }),
        rowOf('a', 6n, { text: 'anew' }),
      ]);
      strictEqual(outcomes[1]?.kind, 'superseded');
      deepStrictEqual(
        (await sink.fetch(['a', 'b'])).map(({ text }) => text),
        ['anew'],
      );
    }),
    test('ids and metadata are any well-formed text', async (sink) => {
      const ids = [
        "it's",
        'a"b\\c',
        "'; DROP TABLE x; --",
        'a\u0000b',
        '日本語🎉',
        '%_*?[x]',
        'line\nbreak',
        '__proto__',
      ];
      const rows = ids.map((id, at) => rowOf(id, BigInt(at), { documentId: id, metadata: { key: id } }));
      await sink.write(rows);
      deepStrictEqual(
        await sink.fetch(ids),
        rows.map((row) => ({ ...row, fingerprint: 'fp-one' })),
      );
    }),
    test('a row that cannot be stored is refused, and its neighbours are stored', async (sink) => {
      const outcomes = await sink.write([
        rowOf('a', 1n),
        rowOf('b', 2n, { vector: new Uint8Array(3) }),
        rowOf('c', 3n),
      ]);
      deepStrictEqual(kinds(outcomes), ['stored', 'refused', 'stored']);
      strictEqual(await sink.count(), 2);
    }),
    test('keeps its own copy of a vector, whose memory the caller uses again', async (sink) => {
      const memory = new Uint8Array(64).fill(0xaa);
      const vector = vectorOf([1, 1]);
      memory.set(vector, 3);
      const pending = sink.write([rowOf('a', 1n, { vector: memory.subarray(3, 3 + DIMS * 2) })]);
      memory.fill(0xff);
      await pending;
      deepStrictEqual((await sink.fetch(['a']))[0]?.vector, vector);
    }),
    test('finds the nearest by cosine, best first', async (sink) => {
      await sink.write([
        rowOf('near', 1n, { vector: vectorOf([1, 1]) }),
        rowOf('same', 2n, { vector: vectorOf([1]), text: 'here' }),
        rowOf('across', 3n, { vector: vectorOf([0, 1]) }),
      ]);
      const hits = await sink.search(
        Float32Array.from({ length: DIMS }, (_, at) => (at === 0 ? 1 : 0)),
        2,
      );
      deepStrictEqual(
        hits.map(({ chunkId }) => chunkId),
        ['same', 'near'],
      );
      strictEqual(hits[0]?.text, 'here');
    }),
    test('finds the nearest of one tenant only', async (sink) => {
      await sink.write([rowOf('nobody', 1n), rowOf('theirs', 2n, { tenantId: 'ACME' })]);
      await sink.write([rowOf('ours', 3n, { tenantId: 'acme', vector: vectorOf([1, 1]) })]);
      const query = Float32Array.from({ length: DIMS }, (_, at) => (at === 0 ? 1 : 0));
      const hits = await sink.search(query, { limit: 5, tenantId: 'acme' });
      deepStrictEqual(
        hits.map(({ chunkId, tenantId }) => [chunkId, tenantId]),
        [['ours', 'acme']],
      );
    }),
    test('gives up when its caller has, with a class that keeps the chunk', async (sink) => {
      await rejects(sink.write([rowOf('a', 1n)], AbortSignal.abort()), {
        name: 'ServingError',
        failureClass: 'outage',
      });
      strictEqual(await sink.count(), 0);
    }),
    {
      name: 'writes nothing before open or after close, and closes twice',
      run: async () => {
        const sink = await harness.create(fresh());
        await rejects(sink.write([rowOf('a', 1n)]), { code: 'SINK_UNAVAILABLE' });
        await sink.open(contractOf());
        await sink.close();
        await sink.close();
        await rejects(sink.write([rowOf('a', 1n)]), { code: 'SINK_UNAVAILABLE' });
      },
    },
    {
      name: 'is looked at without a trace, and takes nothing then',
      run: async () => {
        const collection = fresh();
        const early = await harness.create(collection);
        strictEqual(await early.inspect(), undefined);
        await early.close();
        await within(collection, async (sink) => void (await sink.write([rowOf('a', 4n)])));
        const sink = await harness.create(collection);
        try {
          const found = await sink.inspect();
          deepStrictEqual([found?.fingerprint, found?.dims, found?.dtype, found?.rows], ['fp-one', DIMS, 'FP16', 1]);
          strictEqual((await sink.fetch(['a'])).length, 1);
          await rejects(sink.write([rowOf('b', 5n)]), { code: 'ARGUMENT_INVALID' });
        } finally {
          await sink.close();
        }
      },
    },
    {
      name: 'keeps rows and deletions over a close',
      run: async () => {
        const collection = fresh();
        await within(collection, async (sink) => {
          await sink.write([rowOf('a', 4n)]);
          await sink.remove([deletion('chunk', 'b', 9n)]);
        });
        await within(collection, async (sink) => {
          deepStrictEqual(kinds(await sink.write([rowOf('a', 3n), rowOf('b', 8n), rowOf('c', 1n)])), [
            'superseded',
            'superseded',
            'stored',
          ]);
          strictEqual(await sink.count(), 2);
        });
      },
    },
    ...(['dims', 'dtype', 'fingerprint'] as const).map((field) => ({
      name: `refuses a model with another ${field}`,
      run: async () => {
        const collection = fresh();
        await within(collection, async () => {});
        const other = contractOf(
          { dims: { dims: 16 }, dtype: { dtype: 'FP32' as const }, fingerprint: { fingerprint: 'fp-two' } }[field],
        );
        const sink = await harness.create(collection);
        try {
          await rejects(sink.open(other), (error: Error & { code?: string }) => {
            strictEqual(error.code, 'SINK_SCHEMA_MISMATCH');
            match(error.message, new RegExp(String(other[field])));
            return true;
          });
        } finally {
          await sink.close();
        }
      },
    })),
  ];
}

function kinds(outcomes: readonly RowOutcome[]): string[] {
  return outcomes.map(({ kind }) => kind);
}

function contractOf(changes: Partial<VectorContract> = {}): VectorContract {
  return { modelName: 'contract-test', fingerprint: 'fp-one', dims: DIMS, dtype: 'FP16', maxBatch: 256, ...changes };
}

/** FP16, each element 0 or 1. */
function vectorOf(ones: readonly (0 | 1)[]): Uint8Array {
  return new Uint8Array(Uint16Array.from({ length: DIMS }, (_, at) => (ones[at] === 1 ? FP16_ONE : 0)).buffer);
}

function rowOf(chunkId: string, offset: bigint, changes: Partial<Omit<SinkRow, 'chunkId' | 'source'>> = {}): SinkRow {
  return {
    ...{ chunkId, documentId: 'doc', tenantId: undefined, vector: vectorOf([1]), textSha256: '0'.repeat(64) },
    ...{ text: undefined, truncated: false, metadata: undefined, version: undefined },
    source: { topic: 'contract', partition: 0, offset },
    embeddedAtMs: 1_767_225_600_123,
    ...changes,
  };
}

function deletion(scope: Deletion['scope'], id: string, offset: bigint): Deletion {
  return { scope, id, source: { topic: 'contract', partition: 0, offset } };
}
