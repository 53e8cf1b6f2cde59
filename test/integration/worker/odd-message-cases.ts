/** Messages that are odd as Kafka records: repeated headers, tombstones, a store that refuses one row. As bad-input-cases.ts. */
import { type BadInput, invalid, SENTINEL, text } from './bad-input-cases.ts';

/** A key of this name and another type is made in Redis before the worker starts. */
export const WRONG_TYPE_ID = 'k20#3';

const header = (name: string, value: string) => [name, Buffer.from(value)] as const;
const chunk = (chunkId: string, documentId: string) => ({
  key: documentId,
  value: JSON.stringify({ chunk_id: chunkId, document_id: documentId, text: text(chunkId) }),
});

const repeated = [
  header('x-attempt', '1'),
  header('x-attempt', '2'),
  header('traceparent', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`),
  header('traceparent', `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`),
  header('constructor', SENTINEL),
];

export const oddMessages: readonly BadInput[] = [
  {
    name: 'headers that stand twice trouble nobody and reach the dead letter as they were (K16)',
    messages: [
      { ...chunk('k16', 'k16'), headers: repeated },
      { key: SENTINEL, value: '{"chunk_id":"k16-bad"}', headers: repeated },
    ],
    stored: { k16: text('k16') },
    letters: [invalid(/^text: expected a string, got nothing$/)],
  },
  {
    name: 'tombstones delete a chunk or a document, other nulls are bad messages, and the next chunk is stored (K17)',
    messages: [
      chunk('k17-one', 'k17-d1'),
      chunk('k17-two', 'k17-d2'),
      chunk('k17-three', 'k17-d2'),
      chunk('k17-kept', 'k17-d3'),
      { key: 'k17-one', value: null },
      { key: 'k17-d2', value: null, headers: [header('rag-scope', 'chunk'), header('rag-scope', 'document')] },
      { key: 'k17-never-there', value: null },
      { key: null, value: null },
      { key: 'k17-d3', value: Buffer.alloc(0) },
      { key: 'k17-d3', value: null, headers: [header('rag-scope', 'all')] },
      { key: Buffer.from([0xff, 0xfe]), value: null },
      chunk('k17-after', 'k17-d1'),
    ],
    stored: { 'k17-kept': text('k17-kept'), 'k17-after': text('k17-after') },
    absent: ['k17-one', 'k17-two', 'k17-three'],
    letters: [
      invalid(/^key: .*it has no key$/),
      invalid(/^value: zero bytes/),
      invalid(/^header rag-scope: expected chunk or document, got 3 other characters$/),
      invalid(/^key: expected 1 to 512 bytes of UTF-8, got 2 bytes$/),
    ],
  },
  {
    name: 'a row that the store refuses costs none of its batch (K20)',
    messages: [
      {
        key: 'k20',
        value: JSON.stringify({
          chunks: Array.from({ length: 10 }, (_, i) => ({ chunk_id: `k20#${i}`, text: text(`k20#${i}`) })),
        }),
      },
    ],
    stored: Object.fromEntries(
      Array.from({ length: 10 }, (_, i) => [`k20#${i}`, text(`k20#${i}`)] as const).filter(
        ([id]) => id !== WRONG_TYPE_ID,
      ),
    ),
    letters: [{ code: 'SINK_ROW_REFUSED', stage: 'persist', says: /WRONGTYPE/, index: 3 }],
  },
];
