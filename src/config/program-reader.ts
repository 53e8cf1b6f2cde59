/** How every program reads its settings: once, from the whole environment, with every problem told at once. */
import { homedir, hostname } from 'node:os';
import { allSettings } from './catalogue.ts';
import { type Env, EnvReader } from './env-reader.ts';
import { type ReadFile, readTextFile } from './file-types.ts';
import { deepFreeze } from './freeze.ts';
import type { PoolType } from './setting.ts';
import { unknownNameWarnings } from './unknown-names.ts';

/** What is true of the machine rather than of the deployment; tests give their own. */
export type Machine = {
  readonly hostName: string;
  readonly homeDir: string;
  readonly nowMs: number;
  readonly readFile: ReadFile;
};

export function thisMachine(): Machine {
  return { hostName: hostname(), homeDir: homedir(), nowMs: Date.now(), readFile: readTextFile };
}

export type Warnings = { readonly warnings: readonly string[] };

export function openReader(env: Env, machine: Machine, pool: PoolType): EnvReader {
  return new EnvReader(env, { pool, nowMs: machine.nowMs, readFile: machine.readFile });
}

export function finish<T>(read: EnvReader, config: T): T & Warnings {
  const names = allSettings.map((setting) => setting.name);
  for (const warning of unknownNameWarnings(read.variableNames, names)) read.warn(warning);
  read.finish();
  return deepFreeze({ ...config, warnings: read.warnings });
}
