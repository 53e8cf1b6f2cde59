/**
 * One build from the options to the files. All that can be refused is refused before trtexec starts; what trtexec writes gets the
 * engine's name only when it is whole and its manifest is written.
 */
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../src/clock.ts';
import { readEngineBuildConfig } from '../../src/config/tool-programs.ts';
import { ServingError } from '../../src/errors.ts';
import { ANSWER } from '../model-config/tensor-contract.ts';
import { writeWhole } from '../onnx/model-file.ts';
import { pools } from '../pools.ts';
import type { BuildOptions } from './command.ts';
import { adviceFor } from './failure.ts';
import { type Platform, readPlatform } from './gpu.ts';
import { fileFacts, inspectModel, type ModelFacts } from './inspect.ts';
import {
  type Described,
  type EngineManifest,
  engineManifestSchema,
  MANIFEST_FORMAT,
  manifestPath,
  type PlanManifest,
  planManifestSchema,
  planPath,
} from './manifest.ts';
import { type EngineShapes, profileShapes } from './profile-shapes.ts';
import { type Corner, tryCorners } from './trial.ts';
import { type BuildOutput, findTrtexec, HOW_TO_GET_IT, runTrtexec, versionOfTrtexec } from './trtexec.ts';
import { shellLine, trtexecCommand } from './trtexec-command.ts';
import { checkRoom, claimWorkFolder, workFolderOf } from './work-folder.ts';
import { workspaceMib } from './workspace.ts';

export type Surroundings = {
  readonly env: NodeJS.ProcessEnv;
  /** For the command of a dry run. */
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly clock?: Clock;
};

/** Throws ENGINE_MODEL_INVALID for a model that is refused, DEPENDENCY_MISSING for a build that failed. */
export async function runBuild(
  options: BuildOptions,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<PlanManifest | EngineManifest> {
  const { env, stdout, stderr, clock = systemClock } = surroundings;
  const say = (line: string) => void stderr.write(`${line}\n`);
  const enginePath = resolve(options.outputEnginePath);
  await checkOutput(enginePath, resolve(options.onnxPath));
  const trtexec = await findTrtexec(options.trtexec, env.PATH ?? '');
  if (trtexec === undefined && options.dryRun !== true) {
    throw new ServingError('DEPENDENCY_MISSING', `there is no trtexec here: ${HOW_TO_GET_IT}; --dry-run does without`);
  }
  const { maxStaticVramBytes } = readEngineBuildConfig(env).platform;
  // A plan of before is not one of what follows, however that ends.
  await rm(planPath(enginePath), { force: true });
  const shapes = profileShapes(pools[options.profile], options);
  const { model, trial } = await checkModel(options, shapes, say, signal);
  const workspace = options.workspace ?? workspaceMib(maxStaticVramBytes, weightBytes(model));
  const command = trtexecCommand({
    trtexec: trtexec ?? 'trtexec',
    onnxPath: resolve(options.onnxPath),
    savePath: join(workFolderOf(enginePath), basename(enginePath)),
    ...{ inputs: model.inputs, shapes, precision: options.precision, workspaceMib: workspace },
    timingCachePath: timingCachePath(options.timingCache, enginePath),
    ...{ optimizationLevel: options.optimizationLevel, device: options.device },
  });
  const { source, sourceData, fingerprint, inputs } = model;
  const described: Described = {
    ...{ format: MANIFEST_FORMAT, createdAt: new Date(clock.wallMs()).toISOString(), profile: options.profile },
    ...{ modelType: pools[options.profile].modelType, precision: options.precision, source, sourceData },
    ...{ fingerprint: { ...fingerprint }, inputs: [...inputs], shapes, workspaceMib: workspace, command, trial },
  };
  if (options.dryRun === true || trtexec === undefined) return await plan(described, enginePath, stdout, say);
  return await build(described, { trtexec, enginePath, cudaVariable: env.CUDA_VERSION }, surroundings, signal);
}

/** What the rename at the end would stumble over, or destroy. */
async function checkOutput(enginePath: string, onnxPath: string): Promise<void> {
  const isFolder = (await stat(enginePath).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder && enginePath !== onnxPath) return;
  const what = isFolder ? 'a folder' : 'the model itself';
  throw new ServingError(
    'ARGUMENT_INVALID',
    `--output-engine-path ${enginePath} is ${what}: name a file for the engine`,
  );
}

async function checkModel(
  options: BuildOptions,
  shapes: EngineShapes,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<{ model: ModelFacts; trial: Corner[] | null }> {
  const pool = pools[options.profile];
  const path = resolve(options.onnxPath);
  const model = await inspectModel(path, { pool, maxTokens: shapes.max.tokens, precision: options.precision });
  if (options.trialTokens === 0) return { model, trial: null };
  const trial = await tryCorners(
    {
      ...{ path, inputs: model.inputs, output: ANSWER[pool.modelType], shapes },
      normalized: model.fingerprint.normalize === 'true',
      vocabulary: model.vocabulary ?? 1,
      ...{ budgetTokens: options.trialTokens, threads: options.threads },
    },
    say,
    signal,
  );
  return { model, trial };
}

async function plan(
  described: Described,
  enginePath: string,
  stdout: Surroundings['stdout'],
  say: (line: string) => void,
): Promise<PlanManifest> {
  const manifest = planManifestSchema.parse({ ...described, status: 'planned' });
  await mkdir(dirname(enginePath), { recursive: true });
  await writeWhole(planPath(enginePath), `${JSON.stringify(manifest, undefined, 2)}\n`);
  stdout.write(`${shellLine(manifest.command)}\n`);
  say(`${planPath(enginePath)}: a plan of what would be built; no engine was`);
  return manifest;
}

type Target = { readonly trtexec: string; readonly enginePath: string; readonly cudaVariable: string | undefined };

async function build(
  described: Described,
  { trtexec, enginePath, cudaVariable }: Target,
  { stderr, clock = systemClock }: Surroundings,
  signal: AbortSignal,
): Promise<EngineManifest> {
  const tensorrt = await versionOfTrtexec(trtexec);
  const platform = await readPlatform(cudaVariable);
  const work = await claimWorkFolder(enginePath);
  try {
    await checkRoom(work.path, weightBytes(described));
    const savePath = join(work.path, basename(enginePath));
    stderr.write(`TensorRT ${tensorrt}: ${shellLine(described.command)}\n`);
    const startedMs = clock.monotonicMs();
    const output = await runTrtexec(described.command, (text) => stderr.write(text), signal);
    signal.throwIfAborted();
    const buildSeconds = Math.round((clock.monotonicMs() - startedMs) / 1000);
    const gpu = await checkBuilt(output, savePath);
    const manifest = await describe({ described, tensorrt, platform, gpu, savePath, buildSeconds });
    const written = join(work.path, 'manifest.json');
    await writeFile(written, `${JSON.stringify(manifest, undefined, 2)}\n`);
    // The old manifest goes first: an engine without one is refused later, an engine with another's is believed.
    await rm(manifestPath(enginePath), { force: true });
    await rename(savePath, enginePath);
    await rename(written, manifestPath(enginePath));
    stderr.write(`${enginePath} (SHA-256 ${manifest.engine.sha256})\n${manifestPath(enginePath)}\n`);
    return manifest;
  } finally {
    await work.remove();
  }
}

async function checkBuilt(output: BuildOutput, savePath: string): Promise<EngineManifest['gpu']> {
  const { code, signal, tail, gpuName, computeCapability } = output;
  const bytes = (await stat(savePath).catch(() => undefined))?.size ?? 0;
  if (code !== 0 || bytes === 0) {
    const end = code === 0 ? 'ended with 0 and left no engine' : `ended with ${code ?? signal}`;
    const advice = adviceFor(tail, output);
    const last = `the last it printed:\n${tail}`;
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `trtexec ${end}; ${last}${advice === undefined ? '' : `\n→ ${advice}`}`,
    );
  }
  if (gpuName !== undefined && computeCapability !== undefined) return { name: gpuName, computeCapability };
  throw new ServingError(
    'DEPENDENCY_MISSING',
    'trtexec did not say which GPU it built for (Selected Device, Compute Capability): the engine could be served on a wrong one, and was thrown away',
  );
}

async function describe({
  described,
  savePath,
  platform,
  ...rest
}: Pick<EngineManifest, 'tensorrt' | 'gpu' | 'buildSeconds'> & {
  readonly described: Described;
  readonly savePath: string;
  readonly platform: Platform;
}): Promise<EngineManifest> {
  return engineManifestSchema.parse({
    ...described,
    status: 'built',
    engine: await fileFacts(savePath),
    ...platform,
    ...rest,
  });
}

function timingCachePath(option: string | false | undefined, enginePath: string): string | undefined {
  if (option === false) return undefined;
  return option === undefined ? join(dirname(enginePath), 'trt-timing.cache') : resolve(option);
}

function weightBytes({ source, sourceData }: Pick<ModelFacts, 'source' | 'sourceData'>): number {
  return source.bytes + (sourceData?.bytes ?? 0);
}
