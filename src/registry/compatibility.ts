/**
 * Whether an engine runs on a machine. TensorRT ties an engine to the kind of GPU and to its own version; one that is loaded
 * elsewhere fails at start at best. What is not known is not taken for granted. Pure.
 */
import { ServingError } from '../errors.ts';
import type { EngineBuild } from './manifest.ts';

export type Gpu = { readonly name: string; readonly computeCapability: string | undefined };

/** Undefined: could not be found out. */
export type ThisMachine = { readonly gpus: readonly Gpu[] | undefined; readonly tensorrt: string | undefined };

/** Every reason against it; empty when there is none. */
export function mismatches(engine: EngineBuild, machine: ThisMachine): readonly string[] {
  const reasons: string[] = [];
  if (machine.gpus === undefined || machine.gpus.length === 0) {
    reasons.push(`it was built for ${engine.gpu}, and no GPU is found here (nvidia-smi); name one with --gpu`);
  } else {
    const other = machine.gpus.find((gpu) => plainName(gpu.name) !== plainName(engine.gpu));
    if (other !== undefined) reasons.push(`it was built for ${engine.gpu}, and this machine has ${other.name}`);
    const capability = engine.computeCapability;
    const differs = machine.gpus.find(
      (gpu) => gpu.computeCapability !== undefined && gpu.computeCapability !== capability,
    );
    if (capability !== null && differs !== undefined) {
      reasons.push(`it needs compute capability ${capability}, and this machine has ${differs.computeCapability}`);
    }
  }
  if (machine.tensorrt === undefined) {
    reasons.push(`it needs TensorRT ${engine.tensorrt}, and none is found here; name one with --tensorrt`);
  } else if (release(machine.tensorrt) !== release(engine.tensorrt)) {
    reasons.push(`it needs TensorRT ${engine.tensorrt}, and this machine has ${machine.tensorrt}`);
  }
  return reasons;
}

export function refuseMismatch(model: string, engine: EngineBuild, machine: ThisMachine): void {
  const reasons = mismatches(engine, machine);
  if (reasons.length === 0) return;
  throw new ServingError(
    'MODEL_INCOMPATIBLE',
    `${model} is an engine for another machine: ${reasons.join('; ')}. Pull one that was built here, or add --allow-mismatch`,
  );
}

/** nvidia-smi, drivers and people write the vendor or not. */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^nvidia\s+/, '')
    .replace(/[\s-]+/g, ' ')
    .trim();
}

/** Major, minor, patch; a build number after them makes no difference. */
function release(version: string): string {
  const [major = '', minor = '0', patch = '0'] = version.split('.');
  return `${major}.${minor}.${patch}`;
}
