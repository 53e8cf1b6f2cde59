/**
 * A search service in one file: `node search.mjs model-server:8001`, then `curl 'http://127.0.0.1:PORT/search?q=…'`.
 *
 * Its store is an array; put your vector store in its place. Everything else is as it would be in front of users: one client
 * for the life of the process, one budget a search, an answer also while there is no reranker, and a close at the end.
 */
import { createServer } from 'node:http';
import { createOnline, isServingError } from 'rag-inference-serving/online';

const documents = [
  'Young apple trees need water once or twice a week in their first summer.',
  'Prune apple trees in late winter, before the buds swell.',
  'The ferry to the island leaves at noon and returns at six.',
  'A compiler rejects a program whose types do not match.',
];
const [endpoints = 'localhost:8001', budget = '40'] = process.argv.slice(2);
const searchTimeoutMs = Number(budget);

const online = await createOnline({
  // What a step may take of it; the last one can do without an answer.
  embed: { endpoints, timeoutMs: searchTimeoutMs * 0.4 },
  rerank: { endpoints, timeoutMs: searchTimeoutMs * 0.9 },
  searchTimeoutMs,
  warmUpTimeoutMs: 30_000,
});
const { vectors } = await online.embed(documents, { timeoutMs: 30_000 });

/** The nearest documents, best first: in this order they come back when there is no reranker. */
async function retrieve(vector) {
  const near = vectors.map((other, index) => ({ index, score: other.reduce((sum, x, i) => sum + x * vector[i], 0) }));
  near.sort((a, b) => b.score - a.score);
  return near.slice(0, 3).map(({ index }) => ({ id: `doc-${index}`, text: documents[index] }));
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const answer = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (url.pathname === '/ready') return answer(online.health().status === 'not-ready' ? 503 : 200, online.health());
  // A user who has gone away costs the model nothing more.
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    const traceparent = request.headers.traceparent;
    const found = await online.search(url.searchParams.get('q') ?? '', retrieve, { signal: gone.signal, traceparent });
    const hits = found.results.map(({ id, index, score }) => ({ id, score, text: found.candidates[index].text }));
    answer(200, { hits, source: found.source, degraded: found.degraded });
  } catch (error) {
    const wrong = isServingError(error, 'ARGUMENT_INVALID');
    answer(wrong ? 400 : 503, { error: isServingError(error) ? error.code : 'INTERNAL' });
  }
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`));

process.once('SIGTERM', async () => {
  server.close();
  await online.close();
});
