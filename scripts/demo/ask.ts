/**
 * Asks the store questions in plain words, as a search would: the online module embeds a question, the store finds chunks,
 * the online module reranks them. The deadlines are those of a CPU, not of a GPU.
 */
import { createOnline, type Reranked, ServingError } from '../../online/index.ts';
import { systemClock } from '../../src/clock.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import type { VectorContract } from '../../src/kserve/contract.ts';
import { embedderContract } from '../../src/kserve/model-contract.ts';
import { createSink, type SinkChoice } from '../../src/sinks/registry.ts';
import type { SearchHit } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';

export type Answer = {
  readonly question: string;
  /** Who put the hits in order. */
  readonly source: Reranked['source'];
  readonly hits: readonly SearchHit[];
};

/** What the worker has embedded the chunks with. */
const MODEL = 'batch_embedder_ensemble';
const TIMEOUT_MS = 30_000;
const RETRIEVED = 10;
const SHOWN = 3;

export async function ask(
  questions: readonly string[],
  engineUrl: string,
  choice: SinkChoice,
  signal: AbortSignal,
): Promise<{ readonly answers: readonly Answer[]; readonly distinct: number }> {
  const contract = await storedContract(engineUrl, signal);
  const sink = await createSink(choice, silentLog, systemClock);
  const pool = { endpoints: engineUrl };
  const online = await createOnline({ embed: pool, rerank: pool, warmUpTimeoutMs: TIMEOUT_MS }, { signal });
  try {
    await sink.open(contract, signal);
    const answers: Answer[] = [];
    for (const question of questions) {
      let found: readonly SearchHit[] = [];
      const { results, source } = await online.search(
        question,
        async (vector, limits) => {
          if (limits.fingerprint !== contract.fingerprint) {
            throw new ServingError('MODEL_CONTRACT_MISMATCH', 'questions and chunks are embedded by different models');
          }
          found = await sink.search(vector, RETRIEVED, limits.signal);
          return found.map(({ chunkId, text }) => ({ id: chunkId, text: text ?? '' }));
        },
        { timeoutMs: TIMEOUT_MS, topK: SHOWN, signal },
      );
      answers.push({ question, source, hits: results.map(({ index, score }) => ({ ...found[index]!, score })) });
    }
    return { answers, distinct: await sink.count(signal) };
  } finally {
    await online.close();
    await sink.close();
  }
}

async function storedContract(engineUrl: string, signal: AbortSignal): Promise<VectorContract> {
  const client = createGrpcInferenceClient({
    target: engineUrl,
    targetSetting: 'RAG_SERVING_BATCH_INGEST_GRPC_URL',
    receiveLimitBytes: 4 * 1024 * 1024,
  });
  try {
    return embedderContract(await client.describeModel(MODEL, { timeoutMs: TIMEOUT_MS, signal }));
  } finally {
    client.close();
  }
}
