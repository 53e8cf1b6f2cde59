/**
 * Writes a tokenizer as a model folder of Triton: version 1, config.pbtxt, what it needs, and a manifest of it all.
 *
 * The folder appears as a whole. One that stands there already is replaced only if this wrote it, which its manifest shows.
 */
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { BertCharacters } from '../../src/engine/bert-characters.ts';
import { ServingError } from '../../src/errors.ts';
import { type ModelType, TEXTS, TOKENS } from '../model-config/tensor-contract.ts';
import type { TokenizerBackend } from '../model-config/tokenizer-config.ts';
import { encodeModel } from '../onnx/model-file.ts';
import type { Report } from '../stack/cache.ts';
import { committedPath } from '../stack/package-root.ts';
import { EXTENSIONS_SHA256, EXTENSIONS_VERSION, LIBRARY_FILE } from './op-library.ts';
import { MODEL_VERSIONS } from './operators.ts';
import type { Truncation } from './row-nodes.ts';
import { checkIsTokenizer, readTokenizer } from './tokenizer-file.ts';
import { tokenizerModel } from './tokenizer-graph.ts';
import type { TokenizerSource } from './tokenizer-source.ts';
import { tritonConfig } from './triton-config.ts';

export type ExportOptions = {
  readonly modelType: ModelType;
  readonly source: TokenizerSource;
  /** The model's folder; its last part is the model's name. */
  readonly outputDir: string;
  readonly backend: TokenizerBackend;
  readonly maxTokens: number;
  readonly maxBatch: number;
  readonly truncation: Truncation;
  /** The model's folder as the server sees it; outputDir unless given. */
  readonly servedFrom?: string;
  /** Fetches the operator library; called for a graph only. */
  readonly library: (report: Report) => Promise<string>;
};

const MANIFEST = 'manifest.json';
const FORMAT = 'rag-inference-serving/tokenizer/1';

/** Throws ENGINE_MODEL_INVALID for a tokenizer that cannot be exact, ARGUMENT_INVALID for an output folder of somebody else. */
export async function exportTokenizer(options: ExportOptions, report: Report): Promise<void> {
  const target = resolve(options.outputDir);
  const name = basename(target);
  if (!/^[\w.-]+$/.test(name)) throw argument(`the last part of --output-dir, ${name}, is no name of a Triton model`);
  const { content } = options.source;
  await checkReplaceable(target);
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), `.${name}.`));
  try {
    await chmod(folder, 0o755); // a temporary folder is its owner's alone, and the server is another user
    await mkdir(join(folder, '1'));
    if (options.backend === 'onnx') await writeGraph(folder, content, options, report);
    else await writePython(folder, content);
    const servedFrom = options.servedFrom ?? target;
    const config = {
      ...options,
      name,
      tokenizerSha256: sha256(content),
      libraryPath: `${servedFrom.replace(/\/+$/, '')}/${LIBRARY_FILE}`,
    };
    await writeFile(join(folder, 'config.pbtxt'), tritonConfig(config));
    await writeFile(join(folder, MANIFEST), `${JSON.stringify(await manifest(folder, content, options), null, 2)}\n`);
    await rm(target, { recursive: true, force: true });
    await rename(folder, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  report(`${target}: model ${name} is written`);
}

async function checkReplaceable(target: string): Promise<void> {
  const there = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw argument(`--output-dir ${target} is not a folder`);
  });
  if (there.length === 0) return;
  const written = await readFile(join(target, MANIFEST), 'utf8').catch(() => '');
  if (!written.includes(FORMAT)) {
    throw argument(`--output-dir ${target} holds files that this did not write: name an empty or a new folder`);
  }
}

async function writeGraph(folder: string, content: Buffer, options: ExportOptions, report: Report): Promise<void> {
  const tokenizer = readTokenizer(content, 'tokenizer.json');
  const library = await options.library(report);
  report(`building the graph of ${tokenizer.vocabulary.size} pieces`);
  const model = tokenizerModel(tokenizer, { ...options, producerVersion: await packageVersion() });
  await writeFile(join(folder, '1', 'model.onnx'), encodeModel(model));
  await cp(library, join(folder, LIBRARY_FILE));
  await cp(
    committedPath('scripts/export-tokenizer/triton/onnxruntime-extensions.LICENSE'),
    `${folder}/${LIBRARY_FILE}.LICENSE`,
  );
}

async function writePython(folder: string, content: Buffer): Promise<void> {
  checkIsTokenizer(content, 'tokenizer.json');
  await writeFile(join(folder, '1', 'tokenizer.json'), content);
  await cp(committedPath('scripts/export-tokenizer/triton/model.py'), join(folder, '1', 'model.py'));
}

async function manifest(folder: string, content: Buffer, options: ExportOptions): Promise<object> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  const sums = await Promise.all(
    files.map(async (file) => [file, sha256(await readFile(join(folder, file)))] as const),
  );
  return {
    format: FORMAT,
    exporter: await packageVersion(),
    backend: options.backend,
    model_type: options.modelType,
    ...(options.source.origin && { source: options.source.origin }),
    tokenizer_sha256: sha256(content),
    max_tokens: options.maxTokens,
    max_batch: options.maxBatch,
    truncation: options.truncation,
    inputs: TEXTS[options.modelType],
    outputs: TOKENS,
    ...(options.backend === 'onnx' && {
      operator_sets: MODEL_VERSIONS.opsets,
      operator_library: { name: 'onnxruntime-extensions', version: EXTENSIONS_VERSION, sha256: EXTENSIONS_SHA256 },
      characters_of: `tokenizers ${new BertCharacters().library}`,
    }),
    files: Object.fromEntries(sums),
  };
}

async function packageVersion(): Promise<string> {
  return (JSON.parse(await readFile(committedPath('package.json'), 'utf8')) as { version: string }).version;
}

function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

function argument(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
