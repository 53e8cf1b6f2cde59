/** The files of a model's folder as a hub would list them: paths below it, with forward slashes. */
import { readdir } from 'node:fs/promises';
import { ServingError } from '../../src/errors.ts';

/** Folders where exporters put what is needed. */
const LOOKED_INTO = ['onnx', '1_Pooling'];

/** Throws ARGUMENT_INVALID when there is no such folder. */
export async function listModelFolder(folder: string): Promise<string[]> {
  const entries = await readdir(folder).catch((cause: unknown) => {
    throw new ServingError('ARGUMENT_INVALID', `--model ${folder} is no folder that can be read`, { cause });
  });
  const below = await Promise.all(
    LOOKED_INTO.map(async (name) => {
      const inside = entries.includes(name) ? await readdir(`${folder}/${name}`).catch(() => []) : [];
      return inside.map((entry) => `${name}/${entry}`);
    }),
  );
  return [...entries, ...below.flat()];
}
