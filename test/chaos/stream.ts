/**
 * What is produced, from the seed alone: an endless stream of new chunks, updates, tombstones of chunks and of documents,
 * alone and in batch messages, with texts of unequal length. Pure.
 *
 * A document's messages all go to one partition, tombstones of its chunks included: the key of such a tombstone is the
 * chunk's id, so its partition has to be named. Every text is unique, so that a vector tells whose it is.
 */
import { type Random, randomFrom } from './random.ts';

export type Write = {
  readonly kind: 'write';
  readonly chunkId: string;
  readonly documentId: string;
  readonly version: number | undefined;
  readonly text: string;
};
export type Operation =
  | Write
  | { readonly kind: 'delete chunk'; readonly chunkId: string; readonly documentId: string }
  | { readonly kind: 'delete document'; readonly documentId: string };

export type ChaosMessage = {
  readonly partition: number;
  readonly key: string;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** What it asks for, in order. */
  readonly operations: readonly Operation[];
};

export type StreamShape = {
  readonly partitions: number;
  readonly documents: number;
  readonly chunksPerDocument: number;
};

const SHARE = { deleteDocument: 0.006, deleteChunk: 0.07, batch: 0.15, lateVersion: 0.03, hotDocument: 0.15 };
const HOT_DOCUMENTS = 3;
const WORDS = [
  'offset',
  'commit',
  'Übergröße',
  'наблюдение',
  'slot',
  '猫は窓辺に',
  'lease',
  '🚀',
  'partition',
  'naïve',
];

export class Stream {
  readonly #random: Random;
  readonly #shape: StreamShape;
  /** Revisions given to a chunk so far, and whether the last operation on it was a write. */
  readonly #revisions = new Map<string, { count: number; alive: boolean }>();

  constructor(seed: number, shape: StreamShape) {
    this.#random = randomFrom(seed ^ 0x5eed);
    this.#shape = shape;
  }

  take(messages: number): ChaosMessage[] {
    return Array.from({ length: messages }, () => this.#message());
  }

  #message(): ChaosMessage {
    const random = this.#random;
    const { documents, chunksPerDocument } = this.#shape;
    const document = random.between(0, random.chance(SHARE.hotDocument) ? HOT_DOCUMENTS - 1 : documents - 1);
    const index = random.between(0, chunksPerDocument - 1);
    if (random.chance(SHARE.deleteDocument)) return this.#deleteDocument(document);
    if (random.chance(SHARE.deleteChunk)) return this.#deleteChunk(document, index);
    const size = random.chance(SHARE.batch) ? random.between(2, 8) : 1;
    const writes = Array.from({ length: size }, (_, i) => this.#write(document, (index + i) % chunksPerDocument));
    return this.#ask(document, writes, size === 1 ? fieldsOf(writes[0]!) : batchOf(document, writes));
  }

  #write(document: number, index: number): Write {
    const chunkId = chunkOf(document, index);
    const known = this.#revisions.get(chunkId) ?? { count: 0, alive: false };
    const next = { count: known.count + 1, alive: true };
    this.#revisions.set(chunkId, next);
    const versioned = document % 2 === 0;
    // Sometimes an older version comes late: it must not replace the newer one that is there.
    const late = versioned && known.alive && this.#random.chance(SHARE.lateVersion);
    const version = versioned ? next.count - (late ? 2 : 0) : undefined;
    const text = this.#text(`chunk ${document}#${index} in its revision ${next.count}.`);
    return { kind: 'write', chunkId, documentId: documentOf(document), version, text };
  }

  #text(about: string): string {
    const random = this.#random;
    const kind = random.next();
    const words =
      kind < 0.6
        ? random.between(1, 15)
        : kind < 0.9
          ? random.between(15, 90)
          : kind < 0.995
            ? random.between(90, 400)
            : random.between(400, 3_000);
    const from = random.between(0, WORDS.length - 1);
    return `${about} ${Array.from({ length: words }, (_, i) => WORDS[(from + i * i) % WORDS.length]).join(' ')}`;
  }

  #deleteChunk(document: number, index: number): ChaosMessage {
    const chunkId = chunkOf(document, index);
    this.#forget(chunkId);
    const operation = { kind: 'delete chunk', chunkId, documentId: documentOf(document) } as const;
    return { ...this.#ask(document, [operation], null), key: chunkId };
  }

  #deleteDocument(document: number): ChaosMessage {
    for (let index = 0; index < this.#shape.chunksPerDocument; index++) this.#forget(chunkOf(document, index));
    const operation = { kind: 'delete document', documentId: documentOf(document) } as const;
    return { ...this.#ask(document, [operation], null), headers: { 'rag-scope': 'document' } };
  }

  #forget(chunkId: string): void {
    const known = this.#revisions.get(chunkId);
    if (known !== undefined) this.#revisions.set(chunkId, { count: known.count, alive: false });
  }

  #ask(document: number, operations: readonly Operation[], value: object | null): ChaosMessage {
    return {
      partition: document % this.#shape.partitions,
      key: documentOf(document),
      value: value === null ? null : JSON.stringify(value),
      headers: {},
      operations,
    };
  }
}

const documentOf = (document: number) => `doc-${document}`;
const chunkOf = (document: number, index: number) => `doc-${document}#${index}`;

function fieldsOf({ chunkId, documentId, version, text }: Write): object {
  return { chunk_id: chunkId, document_id: documentId, text, ...(version === undefined ? {} : { version }) };
}

function batchOf(document: number, writes: readonly Write[]): object {
  const chunks = writes.map(({ chunkId, version, text }) => ({
    chunk_id: chunkId,
    text,
    ...(version === undefined ? {} : { version }),
  }));
  return { document_id: documentOf(document), chunks };
}
