/** A model repository as it lies on disk: each model's configuration and the files of its newest version. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelConfig } from '../../../src/kserve/gen/model_config_pb.ts';
import { type LineProblem, parseConfig } from '../../model-config/parse.ts';

export type ModelFolder = {
  readonly name: string;
  readonly folder: string;
  readonly config: ModelConfig;
  readonly problems: readonly LineProblem[];
  /** Paths of the files of the version that is served, by name; undefined when there is no version. */
  readonly files?: Readonly<Record<string, string>>;
};

export const CONFIG_FILE = 'config.pbtxt';

/** Folders that hold models: `root` itself, or folders in it. Empty when there are none. */
export async function findRepositories(root: string): Promise<string[]> {
  if ((await modelsIn(root)).length > 0) return [root];
  const below = (await foldersIn(root)).map((name) => join(root, name));
  const holding = await Promise.all(below.map(async (folder) => (await modelsIn(folder)).length > 0));
  return below.filter((_, index) => holding[index]);
}

export async function readRepository(repository: string): Promise<ModelFolder[]> {
  return await Promise.all(
    (await modelsIn(repository)).map(async (name) => {
      const folder = join(repository, name);
      const files = await versionFiles(folder);
      return {
        ...{ name, folder },
        ...parseConfig(await readFile(join(folder, CONFIG_FILE), 'utf8')),
        ...(files !== undefined && { files }),
      };
    }),
  );
}

export async function modelsIn(repository: string): Promise<string[]> {
  const names = await foldersIn(repository);
  const files = await Promise.all(names.map((name) => readdir(join(repository, name))));
  return names.filter((_, index) => files[index]!.includes(CONFIG_FILE));
}

/** Of the highest number, which `version_policy latest` serves. Dotfiles keep a folder in git and are no part of a model. */
async function versionFiles(folder: string): Promise<Record<string, string> | undefined> {
  const versions = (await foldersIn(folder)).filter((name) => /^[1-9]\d*$/.test(name)).map(Number);
  if (versions.length === 0) return undefined;
  const version = join(folder, String(Math.max(...versions)));
  const names = (await readdir(version)).filter((name) => !name.startsWith('.'));
  return Object.fromEntries(names.map((name) => [name, join(version, name)]));
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .sort();
}
