/**
 * What an engine was built for, from the note that its build writes beside it (`<engine>.manifest.json`), with what the caller
 * says going before. Tolerant: other builders spell it otherwise. Pure.
 */
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import type { EngineBuild } from './manifest.ts';

export const ENGINE_FILE = /\.(plan|engine)$/;
export const NOTE_SUFFIX = '.manifest.json';

export type EngineFacts = {
  readonly gpu?: string | undefined;
  readonly computeCapability?: string | undefined;
  readonly tensorrt?: string | undefined;
  readonly cuda?: string | undefined;
  readonly fingerprint?: Readonly<Record<string, string>> | undefined;
  /** Of the engine's own file. */
  readonly sha256?: string | undefined;
};

const text = z.union([z.string(), z.number().transform(String)]).pipe(z.string().min(1).max(512));
const version = z.union([text, z.object({ version: text }).transform((part) => part.version)]);

const noteSchema = z.object({
  gpu: z.union([text, z.looseObject({ name: text })]).nullish(),
  compute_capability: text.nullish(),
  computeCapability: text.nullish(),
  tensorrt: version.nullish(),
  tensorrtVersion: version.nullish(),
  tensorrt_version: version.nullish(),
  cuda: version.nullish(),
  cudaVersion: version.nullish(),
  cuda_version: version.nullish(),
  fingerprint: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)).nullish(),
  engine: z.looseObject({ sha256: z.string().nullish() }).nullish(),
});

/** Undefined for a file that is no such note. */
export function readEngineNote(json: string): EngineFacts | undefined {
  let parsed: ReturnType<typeof noteSchema.safeParse>;
  try {
    parsed = noteSchema.safeParse(JSON.parse(json));
  } catch {
    return undefined;
  }
  if (!parsed.success) return undefined;
  const note = parsed.data;
  const gpu = typeof note.gpu === 'string' ? { name: note.gpu } : (note.gpu ?? undefined);
  const capability = text.safeParse(
    gpu && ('computeCapability' in gpu ? gpu.computeCapability : (gpu as Record<string, unknown>).compute_capability),
  );
  return {
    gpu: gpu?.name,
    computeCapability:
      (capability.success ? capability.data : undefined) ??
      note.computeCapability ??
      note.compute_capability ??
      undefined,
    tensorrt: note.tensorrt ?? note.tensorrtVersion ?? note.tensorrt_version ?? undefined,
    cuda: note.cuda ?? note.cudaVersion ?? note.cuda_version ?? undefined,
    fingerprint: note.fingerprint ?? undefined,
    sha256: note.engine?.sha256 ?? undefined,
  };
}

/** Of several engines of one model; `flags` go before what the notes say. Throws ARGUMENT_INVALID naming the option. */
export function engineBuildOf(notes: readonly EngineFacts[], flags: EngineFacts): EngineBuild {
  const gpu = oneOf('--gpu', 'the GPU', 'gpu', notes, flags);
  const tensorrt = oneOf('--tensorrt', 'the TensorRT version', 'tensorrt', notes, flags);
  if (gpu === undefined || tensorrt === undefined) {
    const missing = [gpu === undefined && '--gpu "NVIDIA L4"', tensorrt === undefined && '--tensorrt 10.3.0'];
    throw new ServingError(
      'ARGUMENT_INVALID',
      `the folder holds an engine, and no note beside it (<engine>${NOTE_SUFFIX}) says what it was built for: add ${missing.filter(Boolean).join(' and ')}`,
    );
  }
  if (!/^\d+(\.\d+){1,3}$/.test(tensorrt)) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      'the version of TensorRT is written as 10.3.0; mend --tensorrt or the note',
    );
  }
  const computeCapability = oneOf('--compute-capability', 'the compute capability', 'computeCapability', notes, flags);
  if (computeCapability !== undefined && !/^\d{1,3}\.\d{1,2}$/.test(computeCapability)) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      'a compute capability is written as 8.9; mend --compute-capability or the note',
    );
  }
  return {
    gpu,
    computeCapability: computeCapability ?? null,
    tensorrt,
    cuda: oneOf('--cuda', 'the CUDA version', 'cuda', notes, flags) ?? null,
  };
}

function oneOf(
  option: string,
  what: string,
  key: 'gpu' | 'computeCapability' | 'tensorrt' | 'cuda',
  notes: readonly EngineFacts[],
  flags: EngineFacts,
): string | undefined {
  if (flags[key] !== undefined) return flags[key];
  const told = new Set(notes.flatMap((note) => note[key] ?? []));
  if (told.size <= 1) return [...told][0];
  throw new ServingError(
    'ARGUMENT_INVALID',
    `the engines in the folder disagree about ${what}; push them as models of their own, or say ${option}`,
  );
}
