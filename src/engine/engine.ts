/** Engine: the three models on one text model (real or synthetic), served. What `rag-serving engine` starts. */
import { systemClock } from '../clock.ts';
import type { ServingError } from '../errors.ts';
import { type Log, silentLog } from '../telemetry/log.ts';
import type { Compute } from './compute.ts';
import { Journal } from './journal.ts';
import { ModelRunner } from './model-runner.ts';
import { type ModelFiles, type ModelSourceOptions, resolveModel } from './model-source.ts';
import { type ModelKind, modelKinds, modelSpec, type SpecOptions } from './model-spec.ts';
import { embedderCompute, rerankerCompute } from './onnx-compute.ts';
import { OnnxThread } from './onnx-thread-client.ts';
import { EngineServer, type Ports, type ServerOptions } from './server.ts';
import {
  SyntheticCompute,
  type SyntheticOptions,
  syntheticEmbedding,
  syntheticReranking,
} from './synthetic-compute.ts';

/** Longest input of the encoders, in tokens. */
const MAX_TOKENS = 512;

export type QueueOptions = {
  readonly maxQueueSize: number;
  readonly defaultTimeoutUs: number;
  /** Instead of each pool's own. */
  readonly queueDelayUs?: number;
};

export type ModelChoice =
  | { readonly kind: 'onnx'; readonly source: ModelSourceOptions; readonly threads: number }
  | {
      readonly kind: 'synthetic';
      readonly synthetic: SyntheticOptions;
      /** File that tells which texts were embedded. */
      readonly journal?: string;
    };

export type EngineOptions = {
  readonly server: ServerOptions;
  readonly queue: QueueOptions;
  readonly model: ModelChoice;
  /** The model died: the engine is not ready any more and will not recover by itself. */
  readonly onDead?: (error: ServingError) => void;
  readonly log?: Log;
};

export type Engine = {
  readonly ports: Ports;
  readonly fingerprint: string;
  readonly dims: number;
  close(graceMs: number, hurry?: AbortSignal): Promise<void>;
};

/** Starts serving. Throws ENGINE_MODEL_INVALID, DEPENDENCY_MISSING or CONFIG_INVALID. */
export async function startEngine(options: EngineOptions, signal?: AbortSignal): Promise<Engine> {
  const model =
    options.model.kind === 'synthetic'
      ? syntheticModel(options.model)
      : await onnxModel(options.model, options.log ?? silentLog, signal);
  const spec: SpecOptions = { ...model.spec, ...options.queue };
  const runners = modelKinds.map((kind) => new ModelRunner(modelSpec(kind, spec), model.compute(kind), systemClock));
  try {
    const server = await EngineServer.start(options.server, runners);
    model.onDead((error) => {
      server.markNotReady();
      options.onDead?.(error);
    });
    return {
      ports: server.ports,
      fingerprint: spec.fingerprint,
      dims: spec.dims,
      close: async (graceMs, hurry) => {
        await server.close(graceMs, hurry);
        await model.close();
      },
    };
  } catch (error) {
    await model.close();
    throw error;
  }
}

type LoadedModel = {
  readonly spec: Omit<SpecOptions, keyof QueueOptions>;
  compute(kind: ModelKind): Compute;
  onDead(listener: (error: ServingError) => void): void;
  close(): Promise<void>;
};

function syntheticModel(choice: Extract<ModelChoice, { kind: 'synthetic' }>): LoadedModel {
  const { synthetic } = choice;
  const { dims } = synthetic;
  const journal = choice.journal === undefined ? undefined : new Journal(choice.journal);
  return {
    spec: {
      platform: 'synthetic',
      dims,
      fingerprint: `synthetic-sha256/none/l2/FP16/${dims}`,
      parameters: { model: 'synthetic-sha256' },
      scoredBy: 'cosine of both sides (synthetic)',
    },
    compute: (kind) => {
      if (kind === 'online-reranker') return new SyntheticCompute(synthetic, syntheticReranking(dims));
      const embedder = new SyntheticCompute(synthetic, syntheticEmbedding(dims));
      return journal?.around(embedder) ?? embedder;
    },
    onDead: () => {},
    close: async () => journal?.close(),
  };
}

async function onnxModel(
  choice: Extract<ModelChoice, { kind: 'onnx' }>,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<LoadedModel> {
  const files = await resolveModel(choice.source, signal);
  const maxTokens = Math.min(MAX_TOKENS, files.maxPositions);
  const { modelPath, tokenizerPath } = files;
  const thread = await OnnxThread.open({ modelPath, tokenizerPath, maxTokens, threads: choice.threads });
  log.info('model opened', { model: files.name, dims: thread.dims, maxTokens, threads: choice.threads });
  return {
    spec: {
      platform: 'onnxruntime_onnx',
      dims: thread.dims,
      fingerprint: fingerprintOf(files, maxTokens, thread.dims),
      parameters: { model: files.name, model_sha256: files.modelSha256, max_tokens: String(maxTokens) },
      scoredBy: 'cosine of both sides by the embedder, cut together as a pair: a stand-in for a cross-encoder',
    },
    compute: (kind) => (kind === 'online-reranker' ? rerankerCompute(thread) : embedderCompute(thread)),
    onDead: (listener) => thread.onDead(listener),
    close: () => thread.close(),
  };
}

/** Model and revision, tokenizer, pooling, dtype and dims: whatever changes it changes the vectors. */
function fingerprintOf(files: ModelFiles, maxTokens: number, dims: number): string {
  const revision = files.modelSha256.slice(0, 12);
  const tokenizer = files.tokenizerSha256.slice(0, 12);
  return `${files.name}@${revision}/${tokenizer}-${maxTokens}/mean-l2/FP16/${dims}`;
}
