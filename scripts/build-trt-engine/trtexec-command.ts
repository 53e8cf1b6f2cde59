/**
 * The command line of trtexec, and how it is written for a shell. Pure.
 *
 * The network is always strongly typed: TensorRT computes each operator in the type that the graph says. What the export
 * kept in FP32 stays there, and nothing is left to a list of layer names (TensorRT 11 has no option for one any more).
 * scripts/build-trt-engine.sh writes the same line; a test compares them.
 */
import { ENCODER_INPUTS, type EncoderInput } from '../model-config/tensor-contract.ts';
import { type EngineShapes, shapeSpec } from './profile-shapes.ts';

export type Precision = 'fp16' | 'fp32';

export type CommandParts = {
  readonly trtexec: string;
  readonly onnxPath: string;
  /** Where trtexec writes: not yet the engine's own name. */
  readonly savePath: string;
  readonly inputs: readonly EncoderInput[];
  readonly shapes: EngineShapes;
  readonly precision: Precision;
  readonly workspaceMib: number;
  /** Undefined for none. */
  readonly timingCachePath?: string | undefined;
  readonly optimizationLevel: number;
  readonly device: number;
};

export function trtexecCommand(parts: CommandParts): string[] {
  const inputs = ENCODER_INPUTS.filter((name) => parts.inputs.includes(name));
  const { min, opt, max } = parts.shapes;
  return [
    parts.trtexec,
    `--onnx=${parts.onnxPath}`,
    `--saveEngine=${parts.savePath}`,
    `--minShapes=${shapeSpec(inputs, min)}`,
    `--optShapes=${shapeSpec(inputs, opt)}`,
    `--maxShapes=${shapeSpec(inputs, max)}`,
    '--stronglyTyped',
    // TF32 has the mantissa of FP16: an FP32 engine would not say what the FP32 graph says.
    ...(parts.precision === 'fp32' ? ['--noTF32'] : []),
    `--memPoolSize=workspace:${parts.workspaceMib}M`,
    ...(parts.timingCachePath === undefined ? [] : [`--timingCacheFile=${parts.timingCachePath}`]),
    `--builderOptimizationLevel=${parts.optimizationLevel}`,
    `--device=${parts.device}`,
    '--skipInference',
  ];
}

/** One line to paste into a shell. */
export function shellLine(command: readonly string[]): string {
  return command.map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
