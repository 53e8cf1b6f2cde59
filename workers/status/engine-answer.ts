/** What a model server says of the model of the ingest: ready or not, its version and its fingerprint. */
import type { InferenceClient } from '../../src/inference/client.ts';
import { embedderContract } from '../../src/kserve/model-contract.ts';
import type { EngineState } from './report.ts';

const TIMEOUT_MS = 5_000;

/** Rejects when it does not answer, and with MODEL_CONTRACT_MISMATCH for a model that no worker could use. */
export async function askEngine(
  client: Pick<InferenceClient, 'modelReady' | 'describeModel'>,
  modelName: string,
  signal: AbortSignal,
): Promise<EngineState> {
  const options = { timeoutMs: TIMEOUT_MS, signal };
  if (!(await client.modelReady(modelName, options))) return { ready: false, model: undefined };
  const description = await client.describeModel(modelName, options);
  const { fingerprint, dims } = embedderContract(description);
  return { ready: true, model: { version: description.versions.join(', ') || '-', fingerprint, dims } };
}
