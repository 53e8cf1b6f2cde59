/** What the manifest beside an engine says that its configuration has to agree with. Whatever else it says is read over. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ServingError } from '../../src/errors.ts';
import { manifestPath } from '../build-trt-engine/manifest.ts';

const extent = z.looseObject({ batch: z.number().int().positive(), tokens: z.number().int().positive() });
const manifest = z.looseObject({
  profile: z.string(),
  inputs: z.array(z.string()).min(2),
  shapes: z.looseObject({ min: extent, opt: extent, max: extent }),
  /** What the exporter said of the model. */
  fingerprint: z.record(z.string(), z.string()),
  engine: z.looseObject({ sha256: z.string() }),
  tensorrt: z.string(),
  gpu: z.looseObject({ name: z.string() }),
});

export type EngineManifest = z.infer<typeof manifest>;

/** undefined without one. Throws ENGINE_MODEL_INVALID for one that cannot be read. */
export async function readEngineManifest(enginePath: string): Promise<EngineManifest | undefined> {
  const path = manifestPath(enginePath);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return manifest.parse(JSON.parse(text));
  } catch (cause) {
    const where = cause instanceof z.ZodError ? ` (${cause.issues.map(({ path }) => path.join('.')).join(', ')})` : '';
    const remedy = 'it is written by build-trt-engine, beside the engine';
    throw new ServingError('ENGINE_MODEL_INVALID', `${path} is no manifest of an engine${where}: ${remedy}`, { cause });
  }
}
