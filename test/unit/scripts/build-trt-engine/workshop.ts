/** Exported models and both forms of the engine build, for the tests: a folder with what a user would have. */
import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildCommand } from '../../../../scripts/build-trt-engine/command.ts';
import type { EngineManifest, PlanManifest } from '../../../../scripts/build-trt-engine/manifest.ts';
import { runBuild } from '../../../../scripts/build-trt-engine/run.ts';
import { exportModel } from '../../../../scripts/export-onnx/export-model.ts';
import { type TinyOptions, tinyEncoder, writeTinyModel } from '../export-onnx/tiny-encoder.ts';

export const SHELL_FORM = ['bash', join(import.meta.dirname, '../../../../scripts/build-trt-engine.sh')];
export const FAKE_TRTEXEC = join(import.meta.dirname, '../../../support/fake-trtexec.mjs');

export type Workshop = {
  readonly folder: string;
  /** An exported model under this name; the window of its trial is short, since the export is not what is tested. */
  model(
    name: string,
    options: TinyOptions & { readonly fp16?: boolean; readonly largestFileBytes?: number },
  ): Promise<string>;
  close(): Promise<void>;
};

export async function openWorkshop(): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'rag-build-trt-'));
  return {
    folder,
    close: () => rm(folder, { recursive: true, force: true }),
    model: async (name, { fp16 = true, largestFileBytes, ...options }) => {
      const type = options.labels === undefined ? 'embedding' : 'reranker';
      const source = join(folder, `${name}-source`);
      const outputPath = join(folder, `${name}.onnx`);
      await writeTinyModel(source, tinyEncoder(options), { max_position_embeddings: 16 });
      const report = await exportModel(
        {
          ...{ type, model: 'owner/tiny', revision: 'a'.repeat(40), folder: source, graph: 'model.onnx', outputPath },
          ...{ head: { fp16 }, threads: 1, ...(largestFileBytes !== undefined && { largestFileBytes }) },
        },
        () => {},
        new AbortController().signal,
      );
      if (!report.accepted) throw new Error('the gate refused the model of the test');
      return outputPath;
    },
  };
}

/** A folder for PATH in which `trtexec` is the fake. */
export async function folderWithTrtexec(folder: string): Promise<string> {
  const path = join(folder, 'bin', 'trtexec');
  await mkdir(dirname(path), { recursive: true });
  await copyFile(FAKE_TRTEXEC, path);
  return dirname(path);
}

export type Ended = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** PATH without trtexec, and none of this machine's settings. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', CUDA_VERSION: '12.6.3', ...more };
}

export type Run = {
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves once this was printed to standard error. */
  saw(text: string): Promise<void>;
};

export function start(
  [program = '', ...first]: readonly string[],
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): Run {
  const child = spawn(program, [...first, ...args], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  let onText = () => {};
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
    onText();
  });
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
  return {
    ended,
    kill: (signal) => void child.kill(signal),
    saw: (text) =>
      new Promise((resolve, reject) => {
        onText = () => stderr.includes(text) && resolve();
        onText();
        void ended.then(() => reject(new Error(`ended without "${text}": ${stderr}`)));
      }),
  };
}

export const runShell = (args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string) =>
  start(SHELL_FORM, args, env, cwd).ended;

export type Script = {
  readonly manifest: PlanManifest | EngineManifest;
  readonly stdout: string;
  readonly stderr: string;
};

/** The TypeScript form from its command line on, without a process of its own. */
export async function runScript(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Script> {
  let [stdout, stderr] = ['', ''];
  let manifest: PlanManifest | EngineManifest | undefined;
  const program = buildCommand(async (options) => {
    const out = { write: (text: string) => (stdout += text) };
    const err = { write: (text: string) => (stderr += text) };
    manifest = await runBuild(options, { env, stdout: out, stderr: err }, new AbortController().signal);
  });
  await program
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .parseAsync(args, { from: 'user' });
  return { manifest: manifest!, stdout, stderr };
}
