/** What was found, for a person or a script. Texts and metadata of others only when asked for. Pure. */
import type { CollectionDescription } from '../../src/sinks/sink.ts';
import { harmless, table } from '../tool/table.ts';
import type { Ranking } from './ranking.ts';
import type { SearchFlags } from './run.ts';

export type Answer = Ranking & {
  /** From 1. */
  readonly number: number;
  readonly collection: CollectionDescription;
  readonly flags: Pick<SearchFlags, 'showText' | 'showMetadata' | 'rerank'>;
};

const SAYS: Readonly<Record<string, string>> = {
  'no-text': 'the store holds no texts to rerank (RAG_SERVING_STORE_TEXT)',
};

export function answerText({ found, source, degraded, collection, flags }: Answer): string {
  const rows = found.map(({ rank, score, hit }) => [
    String(rank),
    score.toFixed(4),
    hit.chunkId,
    hit.documentId,
    hit.tenantId,
    ...(flags.showMetadata === true ? [hit.metadata && JSON.stringify(hit.metadata)] : []),
  ]);
  const head = ['RANK', 'SCORE', 'CHUNK', 'DOCUMENT', 'TENANT', ...(flags.showMetadata === true ? ['METADATA'] : [])];
  const lines = found.length === 0 ? 'nothing found\n' : table(head, rows);
  const texts =
    flags.showText === true
      ? found.map(({ rank, hit }) => `${rank}: ${hit.text === undefined ? '(not stored)' : harmless(hit.text)}\n`)
      : [];
  const order = flags.rerank === true ? orderText(source, degraded) : 'by similarity';
  return `${lines}${texts.join('')}${collection.collection}: ${collection.rows} rows, ${collection.index ?? 'unknown index'}; ${order}\n`;
}

function orderText(source: Ranking['source'], degraded: Ranking['degraded']): string {
  if (degraded === undefined) return 'reranked';
  const order = source === 'rrf' ? 'by reciprocal rank of the similarity' : 'by similarity';
  return `DEGRADED, not reranked (${SAYS[degraded] ?? degraded}): ${order}`;
}

export function jsonLine({ number, found, source, degraded, collection, flags }: Answer): string {
  const results = found.map(({ rank, score, similarity, hit }) => ({
    ...{ rank, score, similarity, chunkId: hit.chunkId, documentId: hit.documentId, tenantId: hit.tenantId ?? null },
    ...(flags.showText === true ? { text: hit.text ?? null } : {}),
    ...(flags.showMetadata === true ? { metadata: hit.metadata ?? null } : {}),
  }));
  const said = { event: 'search', query: number, source, degraded: degraded ?? null, rows: collection.rows, results };
  return `${JSON.stringify(said)}\n`;
}
