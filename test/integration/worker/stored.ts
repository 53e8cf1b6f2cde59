/** What a worker has left in its store, read back through the sink port under the contract of the model that filled it. */
import { systemClock } from '../../../src/clock.ts';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import { embedderContract } from '../../../src/kserve/model-contract.ts';
import { createSink, type SinkChoice } from '../../../src/sinks/registry.ts';
import type { StoredRow } from '../../../src/sinks/sink.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const MODEL = 'batch_embedder_ensemble';
const PAGE = 1_000;

export async function contractOf(target: string, model = MODEL): Promise<VectorContract> {
  const client = createGrpcInferenceClient({ target, targetSetting: 'TEST', receiveLimitBytes: 4 << 20 });
  try {
    return embedderContract(await client.describeModel(model, { timeoutMs: 10_000 }));
  } finally {
    client.close();
  }
}

/** Rows by id, page by page. A LanceDB folder takes one writer: only after its worker has ended. */
export async function readStored(
  choice: SinkChoice,
  contract: VectorContract,
  ids: readonly string[],
  onPage: (rows: readonly StoredRow[]) => void,
): Promise<number> {
  const sink = await createSink(choice, silentLog, systemClock);
  try {
    await sink.open(contract);
    for (let from = 0; from < ids.length; from += PAGE) onPage(await sink.fetch(ids.slice(from, from + PAGE)));
    return await sink.count();
  } finally {
    await sink.close();
  }
}

/** Vectors by chunk id. */
export async function storedVectors(
  choice: SinkChoice,
  contract: VectorContract,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const vectors = new Map<string, Uint8Array>();
  await readStored(choice, contract, ids, (rows) => {
    for (const { chunkId, vector } of rows) vectors.set(chunkId, vector);
  });
  return vectors;
}
