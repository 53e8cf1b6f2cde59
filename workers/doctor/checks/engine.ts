/** The model servers and the model: reachable, live, ready, and of one contract. */
import { ServingError } from '../../../src/errors.ts';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import { embedderContract } from '../../../src/kserve/model-contract.ts';
import { fail, type Outcome, ok, warn } from '../check.ts';
import type { Parts } from '../parts.ts';
import { failureOf } from '../remedies.ts';

export async function lookAtEngines({ engines, callTimeoutMs }: Parts, signal: AbortSignal): Promise<Outcome> {
  const options = { timeoutMs: callTimeoutMs, signal };
  const states = await Promise.all(
    engines.map(async (engine) => ({
      target: engine.target,
      live: await engine.serverLive(options),
      ready: await engine.serverReady(options),
    })),
  );
  const unwell = states.filter(({ live, ready }) => !(live && ready));
  if (unwell.length === 0) return ok(`${states.map(({ target }) => target).join(', ')}: live and ready`);
  const lines = unwell.map(({ target, live }) => `${target} is ${live ? 'live, but not ready' : 'not live'}`);
  return fail(lines.join('\n'), 'see the log of the model server: a model may have failed to load');
}

export type Described = { readonly target: string; readonly contract: VectorContract };

export function modelVerdict([first, ...others]: readonly [Described, ...Described[]], maxBatchSize: number): Outcome {
  const { modelName, fingerprint, dims, dtype, maxBatch } = first.contract;
  const other = others.find(({ contract }) => contract.fingerprint !== fingerprint);
  if (other !== undefined) {
    return fail(
      `${first.target} serves fingerprint ${fingerprint}, ${other.target} serves ${other.contract.fingerprint}`,
      'serve the same model at every endpoint: vectors of different ones cannot be compared',
    );
  }
  const found = `${modelName}: ${dims} dims, ${dtype}, at most ${maxBatch} texts a call, fingerprint ${fingerprint}`;
  if (maxBatch >= maxBatchSize) return ok(found);
  return warn(
    found,
    `RAG_SERVING_MAX_BATCH_SIZE is ${maxBatchSize}: lower it, or raise max_batch_size of the model; until then calls are smaller`,
  );
}

export async function lookAtModel(parts: Parts, signal: AbortSignal): Promise<Outcome> {
  const { engines, config, callTimeoutMs, found } = parts;
  const { modelName } = config.inference;
  const options = { timeoutMs: callTimeoutMs, signal };
  const [first, ...others] = await Promise.all(
    engines.map(async (engine): Promise<Described> => {
      if (!(await engine.modelReady(modelName, options))) {
        throw new ServingError('MODEL_NOT_READY', `model ${modelName} is not ready at ${engine.target}`);
      }
      return { target: engine.target, contract: embedderContract(await engine.describeModel(modelName, options)) };
    }),
  );
  if (first === undefined) return failureOf(new ServingError('INFERENCE_UNAVAILABLE', 'no endpoint is configured'));
  found.contract = first.contract;
  return modelVerdict([first, ...others], config.pipeline.maxBatchSize);
}
