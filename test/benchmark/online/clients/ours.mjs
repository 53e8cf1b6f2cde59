/** The online module, as a host imports it. */
import { createOnline } from 'rag-inference-serving/online';
import { candidatesOf, measure, queryOf } from './measure.mjs';

const spec = JSON.parse(process.argv[2]);
const pool = { endpoints: spec.target, transport: spec.transport ?? 'stream' };
const online = await createOnline({
  embed: { ...pool, ...spec.embed },
  rerank: { ...pool, ...spec.rerank },
  ...spec.online,
});

const operations = {
  embed: async (index) => {
    await online.embed(queryOf(index));
    return 'embed';
  },
  rerank: async (index) => {
    const { source } = await online.rerank(queryOf(index), candidatesOf(index));
    return source === 'cross-encoder' ? 'rerank' : 'degraded';
  },
  search: async (index) => {
    const { source } = await online.search(queryOf(index), async () => candidatesOf(index));
    return source === 'cross-encoder' ? 'search' : 'degraded';
  },
  // One search beside nine embeddings.
  both: (index) => (index % 10 === 0 ? operations.search(index) : operations.embed(index)),
};

await measure(spec, operations[spec.operation]);
await online.close();
