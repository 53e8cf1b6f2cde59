/** What an engine would run on here: the GPUs by nvidia-smi, TensorRT by its library. What cannot be found out is undefined. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Env } from '../../src/config/env-reader.ts';
import type { Gpu, ThisMachine } from '../../src/registry/compatibility.ts';

const QUERY = ['--query-gpu=name,compute_cap', '--format=csv,noheader'];
const ANSWER_TIMEOUT_MS = 15_000;
const LIBRARY = /^libnvinfer\.so\.(\d+\.\d+\.\d+)/;
const LIBRARY_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/local/lib',
  '/usr/local/tensorrt/lib',
  '/opt/tensorrt/lib',
];

export type MachineFlags = {
  readonly gpu?: string;
  readonly computeCapability?: string;
  readonly tensorrt?: string;
};

/** What is given goes before what is found. */
export async function thisMachine(flags: MachineFlags, env: Env): Promise<ThisMachine> {
  const [gpus, tensorrt] = await Promise.all([
    flags.gpu === undefined ? installedGpus(env) : [{ name: flags.gpu, computeCapability: flags.computeCapability }],
    flags.tensorrt ?? installedTensorrt(env.LD_LIBRARY_PATH?.split(':') ?? []),
  ]);
  return { gpus, tensorrt };
}

async function installedGpus(env: Env): Promise<readonly Gpu[] | undefined> {
  try {
    const options = { timeout: ANSWER_TIMEOUT_MS, env: { PATH: env.PATH } };
    const { stdout } = await promisify(execFile)('nvidia-smi', QUERY, options);
    return parseGpus(stdout);
  } catch {
    return undefined;
  }
}

/** Lines as `NVIDIA L4, 8.9`. */
export function parseGpus(text: string): readonly Gpu[] {
  return text.split('\n').flatMap((line) => {
    const comma = line.lastIndexOf(',');
    const name = line.slice(0, comma === -1 ? undefined : comma).trim();
    const capability = comma === -1 ? '' : line.slice(comma + 1).trim();
    if (name === '') return [];
    return [{ name, computeCapability: /^\d+\.\d+$/.test(capability) ? capability : undefined }];
  });
}

/** Undefined also where several are installed: which one a server loads is not known here. */
export async function installedTensorrt(
  before: readonly string[],
  folders: readonly string[] = LIBRARY_FOLDERS,
): Promise<string | undefined> {
  const versions = new Set<string>();
  for (const folder of [...before, ...folders]) {
    if (folder === '') continue;
    for (const name of await readdir(folder).catch(() => [])) {
      const version = LIBRARY.exec(name)?.[1];
      if (version !== undefined) versions.add(version);
    }
  }
  return versions.size === 1 ? [...versions][0] : undefined;
}
