/** All that is wrong with model repositories, also with edited ones: each file against the schema, then each against the others. */
import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ServingError } from '../../../src/errors.ts';
import { artifactProblems } from './artifacts.ts';
import { ensembleProblems } from './ensemble.ts';
import { CONFIG_FILE, findRepositories, type ModelFolder, readRepository } from './model-folder.ts';
import { modelFileOf, oneModelProblems } from './one-model.ts';
import { pipelineProblems } from './pipeline.ts';

export type Checked = {
  readonly models: number;
  /** One line each: file, line where there is one, what is wrong. */
  readonly problems: readonly string[];
};

/** `root` is a repository or a folder of several. Throws ARGUMENT_INVALID when it holds no model. */
export async function checkRepositories(root: string): Promise<Checked> {
  const isFolder = await stat(root)
    .then((found) => found.isDirectory())
    .catch(() => false);
  const repositories = isFolder ? await findRepositories(root) : [];
  if (repositories.length === 0) {
    throw new ServingError('ARGUMENT_INVALID', `${root} holds no model: no folder in it has a ${CONFIG_FILE}`);
  }
  const checked = await Promise.all(repositories.map((repository) => checkRepository(root, repository)));
  return {
    models: checked.reduce((sum, { models }) => sum + models, 0),
    problems: checked.flatMap(({ problems }) => problems),
  };
}

async function checkRepository(root: string, repository: string): Promise<Checked> {
  const folders = await readRepository(repository);
  const models = new Map(folders.map(({ name, config }) => [name, config]));
  // Configurations alone are a template; where one model has its file, the server is meant to start.
  const served = folders.some((folder) => modelFile(folder) !== undefined);
  // What could not be read says nothing about what meets it.
  const readable = folders.every((folder) => folder.problems.length === 0);
  const found = readable ? pipelineProblems(models) : [];
  const problems = await Promise.all(
    folders.map(async (folder) => {
      const path = relative(root, join(folder.folder, CONFIG_FILE));
      const parsed = folder.problems.map(({ line, message }) => `${path}:${line}: ${message}`);
      const rest =
        folder.problems.length > 0
          ? []
          : [
              ...oneModelProblems(folder.name, folder.config),
              ...(readable ? ensembleProblems(folder.config, models) : []),
              ...found.filter(({ model }) => model === folder.name).map(({ message }) => message),
              ...(served ? missingFile(folder) : []),
              ...(await artifactProblems(folder)),
            ];
      return [...parsed, ...rest.map((message) => `${path}: ${message}`)];
    }),
  );
  return { models: folders.length, problems: problems.flat() };
}

function modelFile({ config, files = {} }: ModelFolder): string | undefined {
  const name = modelFileOf(config);
  return name === undefined ? undefined : files[name];
}

function missingFile(folder: ModelFolder): string[] {
  if (folder.files === undefined) return ['there is no version folder (1)'];
  const name = modelFileOf(folder.config);
  return name === undefined || folder.files[name] !== undefined ? [] : [`${name} is not in its version's folder`];
}
