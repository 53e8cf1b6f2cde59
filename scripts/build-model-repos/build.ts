/**
 * Builds a pool's repository: renders its configurations, lays files beside them, checks everything, and only then moves it to
 * where a server could load it. What stood there of these models is replaced; other models stay.
 */
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { formatGolden } from '../../src/golden/golden-file.ts';
import type { Truncation } from '../export-tokenizer/row-nodes.ts';
import { ENGINES, type Runtime, type Shape } from '../model-config/encoder-config.ts';
import { fingerprintOf } from '../model-config/identity.ts';
import type { Pool } from '../pools.ts';
import type { Report } from '../stack/cache.ts';
import { checkRepositories } from './check/check-repository.ts';
import { CONFIG_FILE } from './check/model-folder.ts';
import { ENCODER_PROGRAM, type Program, placeEncoder } from './encoder-files.ts';
import { type EncoderSource, readEncoder } from './encoder-source.ts';
import { findGolden, GOLDEN_FILE, goldenOfPipeline, readGolden } from './golden.ts';
import { referenceEncoder } from './reference-models.ts';
import { type RenderedModel, renderRepository } from './repository.ts';
import { exportedTokenizer, TOKENIZER_MANIFEST } from './tokenizer-source.ts';

export type BuildOptions = {
  readonly pool: Pool;
  readonly runtime: Runtime;
  /** Folder of the repository: its folders are models. */
  readonly outputDir: string;
  /** The encoder's file, and the tokenizer's folder; configurations alone are written without both. */
  readonly source?: { readonly encoder: string; readonly tokenizerDir: string } | undefined;
  /** Golden file of the encoder; the one beside it unless given. */
  readonly golden?: string | undefined;
  readonly tokenizerBackend: 'onnx' | 'python';
  readonly truncation: Truncation;
  readonly maxTokens?: number | undefined;
  readonly device: 'gpu' | 'cpu';
  readonly gpus: readonly number[];
  readonly instances: number;
  readonly cudaGraphs: readonly Shape[];
  readonly servedFrom?: string | undefined;
  readonly fingerprint?: string | undefined;
};

/** Throws ARGUMENT_INVALID, ENGINE_MODEL_INVALID or the signal's reason; nothing is written then. */
export async function buildRepository(
  options: BuildOptions,
  report: Report,
  signal?: AbortSignal,
): Promise<readonly RenderedModel[]> {
  const target = resolve(options.outputDir);
  await mkdir(dirname(target), { recursive: true });
  const work = await mkdtemp(join(dirname(target), `.${basename(target)}.tmp-`));
  try {
    await chmod(work, 0o755); // a temporary folder is its owner's alone, and the server is another user
    const models = await layOut(options, work, report);
    signal?.throwIfAborted();
    const { problems } = await checkRepositories(join(work, 'models'));
    if (problems.length > 0) {
      throw new ServingError('ENGINE_MODEL_INVALID', `the repository would not serve:\n  ${problems.join('\n  ')}`);
    }
    await checkReplaceable(target, models);
    signal?.throwIfAborted();
    for (const { name } of models) await moveModel(join(work, 'models', name), join(target, name), options);
    for (const { name } of models) report(`${join(target, name)} is written`);
    if (options.source !== undefined) await moveGolden(join(work, GOLDEN_FILE), join(target, GOLDEN_FILE), report);
    return models;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Models into `work/models`, and their golden file, where there is one, into `work`. */
async function layOut(options: BuildOptions, work: string, report: Report): Promise<RenderedModel[]> {
  const { pool, runtime, source } = options;
  const folder = join(work, 'models');
  const encoder = source ? await readEncoder(source.encoder, pool, runtime) : referenceEncoder(pool.modelType);
  const maxTokens = options.maxTokens ?? encoder.maxTokens ?? pool.maxTokens;
  if (maxTokens > (encoder.maxTokens ?? maxTokens)) {
    const message = `--max-tokens ${maxTokens} is more than the ${encoder.maxTokens} that the encoder takes`;
    throw new ServingError('ARGUMENT_INVALID', message);
  }
  const wanted = { pool, maxTokens, backend: options.tokenizerBackend, truncation: options.truncation };
  const place = join(folder, pool.tokenizer);
  await mkdir(folder, { recursive: true });
  const tokenizer = source ? await exportedTokenizer(source.tokenizerDir, place, wanted, report) : undefined;
  if (tokenizer !== undefined && tokenizer.folder !== place) await cp(tokenizer.folder, place, { recursive: true });
  const identity = withTokenizer(encoder, tokenizer?.exported.tokenizer_sha256);
  const fingerprint = options.fingerprint ?? fingerprintOf(identity, maxTokens);
  const models = renderRepository({
    ...{ pool, runtime, maxTokens, inputs: encoder.inputs, fingerprint, identity },
    tokenizer: tokenizer?.exported ?? wanted,
    placement: { device: options.device, gpus: options.gpus, instances: options.instances },
    cudaGraphs: options.cudaGraphs,
    servedFrom: options.servedFrom ?? resolve(options.outputDir),
  });
  for (const { name, text } of models) {
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, name, CONFIG_FILE), text);
  }
  if (source === undefined) return models;
  const golden = await findGolden(options.golden, source.encoder);
  if (golden !== undefined) {
    const own = goldenOfPipeline(await readGolden(golden), { identity, maxTokens, fingerprint }, golden);
    await writeFile(join(work, GOLDEN_FILE), formatGolden(own));
  }
  await restateSum(place);
  await mkdir(join(folder, pool.ensemble, '1'));
  // Triton wants the version's folder, and neither a registry nor git keeps an empty one.
  await writeFile(join(folder, pool.ensemble, '1', '.keep'), '');
  await placeEncoder(join(folder, pool.encoder, '1'), encoder.files, runtime === 'python' ? PROGRAM : {}, 'copy');
  return models;
}

const PROGRAM: Program = { [ENGINES.python.file]: ENCODER_PROGRAM };

/** An encoder that was exported with another tokenizer answers nonsense without any error. */
function withTokenizer({ identity }: EncoderSource, tokenizerSha256: string | undefined): EncoderSource['identity'] {
  if (tokenizerSha256 === undefined) return identity;
  const { tokenizerSha256: exportedWith = tokenizerSha256 } = identity;
  if (exportedWith === tokenizerSha256) return { ...identity, tokenizerSha256 };
  const message = `the encoder was exported with the tokenizer ${exportedWith.slice(0, 12)}, and --tokenizer-dir is ${tokenizerSha256.slice(0, 12)}`;
  throw new ServingError('ARGUMENT_INVALID', `${message}: take both from one model`);
}

/** The exporter's manifest has a sum of every file, and the configuration has been written anew. */
async function restateSum(tokenizer: string): Promise<void> {
  const path = join(tokenizer, TOKENIZER_MANIFEST);
  const manifest = JSON.parse(await readFile(path, 'utf8')) as { files: Record<string, string> };
  const config = await readFile(join(tokenizer, CONFIG_FILE));
  manifest.files[CONFIG_FILE] = createHash('sha256').update(config).digest('hex');
  await writeFile(path, `${JSON.stringify(manifest, null, 2)}\n`);
}

async function checkReplaceable(target: string, models: readonly RenderedModel[]): Promise<void> {
  for (const { name } of models) {
    const entries = await readdir(join(target, name)).catch((): string[] => []);
    if (entries.length === 0 || entries.includes(CONFIG_FILE)) continue;
    const message = `${join(target, name)} holds files and no ${CONFIG_FILE}, so it is no model: name another --output-dir`;
    throw new ServingError('ARGUMENT_INVALID', message);
  }
}

/** Without files only the configuration is replaced: a version that was fetched stays. */
async function moveModel(from: string, to: string, { source }: BuildOptions): Promise<void> {
  if (source !== undefined) {
    await mkdir(dirname(to), { recursive: true });
    await rm(to, { recursive: true, force: true });
    await rename(from, to);
    return;
  }
  await mkdir(to, { recursive: true });
  await rename(join(from, CONFIG_FILE), join(to, CONFIG_FILE));
}

/** The vectors of the encoder that was there before are no reference for this one. */
async function moveGolden(from: string, to: string, report: Report): Promise<void> {
  const made = await rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (!made) await rm(to, { force: true });
  report(
    made ? `${to} is written` : 'no golden file: --golden names the one that export-onnx wrote, for `models check`',
  );
}
