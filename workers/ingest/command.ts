/** Runs `ingest` for a person or a script: settings, the lock, the model server, progress, checkpoint, summary, exit code. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Env } from '../../src/config/env-reader.ts';
import { type IngestConfig, readIngestConfig } from '../../src/config/programs.ts';
import { asServingError, isServingError, ServingError } from '../../src/errors.ts';
import { withFolderLock } from '../../src/registry/folder-lock.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import type { Input } from '../files/inputs.ts';
import type { IngestFlags } from '../ingest.ts';
import { listenForStop, type StopSignals } from '../signals.ts';
import { openProgress, type Progress } from '../tool/progress.ts';
import { printWarnings, toolLog } from '../tool/tool-log.ts';
import { collectionOf } from '../worker/retries.ts';
import { type Checkpoint, prepareFolder, readCheckpoint, removeCheckpoint } from './checkpoint.ts';
import { checkFiles } from './dry-run.ts';
import { envOfOwnEngine, startOwnEngine, wantsOwnEngine } from './engine.ts';
import { FileSource } from './file-source.ts';
import { columnsOf, inputsOf, openFiles } from './job-files.ts';
import type { OpenFile } from './open-file.ts';
import { Rejects } from './rejects.ts';
import { exitCodeFor, type IngestResult, jsonReport, textReport } from './report.ts';
import { runFiles } from './run.ts';
import { Saver } from './saver.ts';
import { sumOf } from './tally.ts';

const SERVICE = 'rag-serving-ingest';
const LOW_RATIO = 0.5;
const ENGINE_CLOSE_MS = 2_000;

type Session = {
  readonly flags: IngestFlags;
  readonly config: IngestConfig;
  readonly inputs: readonly Input[];
  readonly progress: Progress;
  readonly signals: StopSignals;
  readonly startedAt: number;
};

export async function runIngest(
  paths: readonly string[],
  flags: IngestFlags,
  env: Env,
  version: string,
): Promise<ExitCode> {
  const startedAt = performance.now();
  const config = readIngestConfig(env);
  printWarnings(config);
  const inputs = await inputsOf(paths, flags);
  const totalBytes = inputs.reduce((sum, { bytes }) => sum + bytes, 0);
  const signals = listenForStop();
  const progress = openProgress(process.stderr, totalBytes, { command: 'ingest', arrived: 'done' });
  const session: Session = { flags, config, inputs, progress, signals, startedAt };
  try {
    if (flags.dryRun === true) return await dryRun(session);
    const folder = resolve(flags.state);
    await mkdir(folder, { recursive: true });
    const lock = { waitMs: 0, onWait: () => {}, holder: 'another ingest' };
    return await withFolderLock(
      join(folder, 'ingest.lock'),
      lock,
      (lost) => ingest(session, folder, env, version, lost),
      new AbortController().signal,
    );
  } finally {
    progress.stop();
  }
}

async function dryRun(session: Session): Promise<ExitCode> {
  const { flags, inputs, signals } = session;
  const files = await openFiles(inputs, columnsOf(flags), flags.chunkTokens, []);
  const rejects = new Rejects((line) => session.progress.line(line));
  if (flags.rejects !== undefined) await rejects.openFile(flags.rejects, 0);
  const source = sourceOf(session, session.config, files, rejects);
  await checkFiles(source, files, signals.stopping);
  await rejects.flush();
  await rejects.close();
  const end = signals.stopping.aborted ? 'interrupted' : source.isLimited ? 'limit' : 'done';
  return finish(session, files, { earlier: sumOf([]), end, failure: undefined });
}

async function ingest(
  session: Session,
  folder: string,
  env: Env,
  version: string,
  lost: AbortSignal,
): Promise<ExitCode> {
  const { flags, config, inputs, progress, signals } = session;
  const target = collectionOf(config.sink);
  await prepareFolder(folder);
  if (flags.restart === true) await removeCheckpoint(folder);
  const before = await readCheckpoint(folder, target);
  const files = await openFiles(inputs, columnsOf(flags), flags.chunkTokens, before?.marks ?? []);
  const earlier = sumOf(files.map(({ tally }) => structuredClone(tally)));
  const rejects = new Rejects((line) => progress.line(line));
  const rejectsPath = flags.rejects === undefined ? undefined : resolve(flags.rejects);
  if (rejectsPath !== undefined) await rejects.openFile(rejectsPath, keptBytes(before, rejectsPath));
  const broken = new AbortController();
  const log = toolLog(config, SERVICE);
  const own = new Set(inputs.map(({ path }) => path));
  const others = before?.marks.filter(({ path }) => !own.has(path)) ?? [];
  const saver = new Saver({
    folder,
    target,
    files: files.filter(({ input }) => input.path !== '-'),
    others,
    rejects,
    rejectsPath,
    onFailure: (error) => broken.abort(checkpointError(error, folder)),
  });
  let engine: Awaited<ReturnType<typeof startOwnEngine>> | undefined;
  let failure: ServingError | undefined;
  let isLimited = false;
  try {
    let effective = config;
    if (await wantsOwnEngine(flags, env, config)) {
      progress.line('serving a small model inside this process (--engine)');
      const onDead = (error: ServingError) => broken.abort(error);
      const onProgress = (step: string) => progress.line(step);
      engine = await startOwnEngine({ flags, config, version, onProgress, onDead, log }, signals.stopping);
      effective = readIngestConfig(envOfOwnEngine(env, engine));
    }
    const source = sourceOf(session, effective, files, rejects);
    saver.start();
    const stopped = AbortSignal.any([broken.signal, lost]);
    const onWaiting = (text: string) => progress.line(text);
    failure = await runFiles({
      config: { ...effective, workerId: workerIdOf(folder) },
      files,
      source,
      signals,
      broken: stopped,
      onWaiting,
      log,
    });
    isLimited = source.isLimited;
  } catch (error) {
    if (!signals.stopping.aborted) failure = asServingError(error);
  }
  await saver.stop();
  await engine?.close(ENGINE_CLOSE_MS);
  const isDone = failure === undefined && files.every(({ isFinished }) => isFinished);
  // A lock that was taken away: whoever has it now writes the checkpoint.
  if (!lost.aborted) {
    await saver.save();
    if (isDone && others.length === 0) await removeCheckpoint(folder);
  }
  await rejects.close();
  if (failure !== undefined) return finish(session, files, { earlier, end: 'failed', failure });
  const end = signals.stopping.aborted && !isDone ? 'interrupted' : isLimited && !isDone ? 'limit' : 'done';
  return finish(session, files, { earlier, end, failure });
}

function sourceOf(
  { flags, progress }: Session,
  { pipeline }: IngestConfig,
  files: readonly OpenFile[],
  rejects: Rejects,
): FileSource {
  return new FileSource({
    files,
    entries: { columns: columnsOf(flags), targetTokens: flags.chunkTokens },
    decode: {
      maxTextBytes: pipeline.maxTextBytes,
      oversizedText: pipeline.oversizePolicy === 'truncate' ? 'cut' : 'reject',
      keepUnknownFields: pipeline.keepUnknownFields,
    },
    flow: {
      maxInFlightChunks: pipeline.maxInFlightChunks,
      maxInFlightBytes: pipeline.maxInFlightBytes,
      lowRatio: LOW_RATIO,
    },
    limit: flags.limit ?? Number.POSITIVE_INFINITY,
    onRejected: (reject) => rejects.add(reject),
    onProgress: (readBytes, ended) => progress.update(readBytes, ended),
    onProblem: ({ input, problem }) => progress.line(`not read to its end: ${input.name}: ${problem}`),
  });
}

function finish(
  { flags, config, inputs, progress, startedAt }: Session,
  files: readonly OpenFile[],
  outcome: Pick<IngestResult, 'earlier' | 'end' | 'failure'>,
): ExitCode {
  progress.stop();
  const isDryRun = flags.dryRun === true;
  const result: IngestResult = {
    files: files.length,
    filesDone: files.filter(({ isFinished, problem }) => isFinished && problem === undefined).length,
    tally: sumOf(files.map(({ tally }) => tally)),
    problems: files.flatMap(({ input, problem }) => (problem === undefined ? [] : [{ file: input.name, problem }])),
    seconds: Math.round(performance.now() - startedAt) / 1_000,
    ...outcome,
  };
  const target = nameOfTarget(config);
  const isResumable = inputs.every(({ path }) => path !== '-') && !isDryRun;
  process.stdout.write(
    flags.json === true ? jsonReport(result, target, isDryRun) : textReport(result, target, isDryRun, isResumable),
  );
  if (isServingError(result.failure, 'ARGUMENT_INVALID', 'CONFIG_INVALID')) return exitCodes.usage;
  return exitCodeFor(result);
}

/**
 * Whose shared memory it is: not that of a worker on this machine, and of a killed run that of the run which goes on with it,
 * so that what was left behind is cleared away.
 */
function workerIdOf(folder: string): string {
  return `ingest-${createHash('sha256').update(folder).digest('hex').slice(0, 10)}`;
}

function nameOfTarget({ sink }: IngestConfig): string {
  return sink.kind === 'lancedb' ? `lancedb ${sink.path} (${sink.table})` : sink.kind;
}

function keptBytes(before: Checkpoint | undefined, path: string): number {
  return before?.rejects?.path === path ? before.rejects.bytes : 0;
}

function checkpointError(error: unknown, folder: string): ServingError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new ServingError(
    'DISK_FULL',
    `the checkpoint in ${folder} cannot be written (${code}); make room or name another --state folder`,
    { cause: error },
  );
}
