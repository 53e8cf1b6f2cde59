/** Asks the store a question in plain words: embed it with the same model, find the nearest chunks. */
import { systemClock } from '../../src/clock.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import { embedderContract } from '../../src/kserve/model-contract.ts';
import { InlineTransport } from '../../src/pipeline/inline-transport.ts';
import { createSink, type SinkChoice } from '../../src/sinks/registry.ts';
import { decodeVector } from '../../src/sinks/similarity.ts';
import type { SearchHit } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';

export type Answer = { readonly question: string; readonly hits: readonly SearchHit[] };

const MODEL = 'batch_embedder_ensemble';
const TIMEOUT_MS = 30_000;

export async function ask(
  questions: readonly string[],
  engineUrl: string,
  choice: SinkChoice,
  signal: AbortSignal,
): Promise<{ readonly answers: readonly Answer[]; readonly distinct: number }> {
  const client = createGrpcInferenceClient({
    target: engineUrl,
    targetSetting: 'RAG_SERVING_BATCH_INGEST_GRPC_URL',
    receiveLimitBytes: 4 * 1024 * 1024,
  });
  const sink = await createSink(choice, silentLog, systemClock);
  try {
    const contract = embedderContract(await client.describeModel(MODEL, { timeoutMs: TIMEOUT_MS, signal }));
    await sink.open(contract, signal);
    const transport = new InlineTransport({ client, contract, timeoutMs: TIMEOUT_MS });
    const answers: Answer[] = [];
    for (const question of questions) {
      const { vectors } = await transport.embed([question], signal);
      const hits = await sink.search(decodeVector(vectors, contract.dtype), 3, signal);
      answers.push({ question, hits });
    }
    return { answers, distinct: await sink.count(signal) };
  } finally {
    await sink.close();
    client.close();
  }
}
