/** trtexec as a program: where it is, which TensorRT it belongs to, one build. What it prints is the only thing it tells. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { onAbort } from '../../src/on-abort.ts';
import { versionOf } from '../stack/command.ts';
import type { BuildEnd } from './failure.ts';

/** Where NVIDIA's containers and packages put it. */
const USUAL_PLACES = ['/usr/src/tensorrt/bin', '/opt/tensorrt/bin'];
/** INT64 inputs and strongly typed networks as they are needed here. */
const OLDEST_MAJOR = 10;
const KEPT_LINES = 40;
const KILL_AFTER_MS = 5_000;

export const HOW_TO_GET_IT =
  'trtexec comes with the Triton containers of NVIDIA (tritonserver:<version>-py3): run this in the one that will serve the engine, or give --trtexec PATH';

/** The program's path; undefined where there is none. A path that was given must be one. */
export async function findTrtexec(given: string | undefined, pathVariable: string): Promise<string | undefined> {
  if (given !== undefined) {
    const path = resolve(given);
    if (await isProgram(path)) return path;
    throw new ServingError('ARGUMENT_INVALID', `--trtexec ${given} is no program`);
  }
  const folders = [...pathVariable.split(delimiter).filter((folder) => folder !== ''), ...USUAL_PLACES];
  for (const folder of folders) {
    const path = resolve(join(folder, 'trtexec'));
    if (await isProgram(path)) return path;
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  const executable = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  return executable && (await stat(path)).isFile();
}

/** From "[TensorRT v101600]"; TensorRT 8 and 9 count otherwise (v8601). Undefined for anything else. Pure. */
export function parseVersion(output: string): string | undefined {
  const [, digits] = /\[TensorRT v(\d{4,6})\]/.exec(output) ?? [];
  if (digits === undefined) return undefined;
  const number = Number(digits);
  const perMajor = digits.length > 4 ? 10_000 : 1_000;
  return [Math.floor(number / perMajor), Math.floor((number % perMajor) / 100), number % 100].join('.');
}

/** Throws DEPENDENCY_MISSING for a TensorRT that is too old, or a program that is another one. */
export async function versionOfTrtexec(path: string): Promise<string> {
  const version = parseVersion((await versionOf(path, ['--help'])) ?? '');
  if (version === undefined) {
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `${path} --help does not tell a version of TensorRT: ${HOW_TO_GET_IT}`,
    );
  }
  if (Number(version.split('.')[0]) < OLDEST_MAJOR) {
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `${path} is of TensorRT ${version}; ${OLDEST_MAJOR} is the oldest that takes these models: ${HOW_TO_GET_IT}`,
    );
  }
  return version;
}

export type BuildOutput = BuildEnd & {
  /** The last lines. */
  readonly tail: string;
  readonly gpuName: string | undefined;
  readonly computeCapability: string | undefined;
};

/** Runs the command to its end; an abort ends it. All that it prints goes to `onText` as well. */
export function runTrtexec(
  [program = '', ...args]: readonly string[],
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<BuildOutput> {
  return new Promise((done, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const lines = new LineReader();
    const stopListening = onAbort(signal, () => endChild(child));
    if (signal.aborted) endChild(child);
    const take = (text: string) => {
      onText(text);
      lines.take(text);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.on('error', (cause) => {
      stopListening();
      reject(new ServingError('DEPENDENCY_MISSING', `${program} cannot be run`, { cause }));
    });
    child.on('close', (code, killedBy) => {
      stopListening();
      done({ code, signal: killedBy, ...lines.found() });
    });
  });
}

function endChild(child: ChildProcess): void {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  child.once('close', () => clearTimeout(timer));
}

/** Keeps the last lines, and what was said of the GPU among the many before. */
class LineReader {
  #open = '';
  readonly #tail: string[] = [];
  #gpuName: string | undefined;
  #computeCapability: string | undefined;

  take(text: string): void {
    const lines = (this.#open + text).split('\n');
    this.#open = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  found(): Pick<BuildOutput, 'tail' | 'gpuName' | 'computeCapability'> {
    this.#line(this.#open);
    this.#open = '';
    return { tail: this.#tail.join('\n'), gpuName: this.#gpuName, computeCapability: this.#computeCapability };
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    this.#gpuName ??= /Selected Device: (.*\S)/.exec(line)?.[1];
    this.#computeCapability ??= /Compute Capability: (\d+\.\d+)/.exec(line)?.[1];
    this.#tail.push(line);
    if (this.#tail.length > KEPT_LINES) this.#tail.shift();
  }
}
