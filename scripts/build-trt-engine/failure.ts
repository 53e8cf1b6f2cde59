/**
 * What to do about a build that failed, from what trtexec printed last. Pure.
 *
 * TensorRT has no error codes on its command line, so this reads its words; it only adds advice, and what was printed is
 * shown as well. scripts/build-trt-engine.sh has the same list; a test compares them.
 */
type Remedy = { readonly pattern: RegExp; readonly advice: string };

const REMEDIES: readonly Remedy[] = [
  {
    pattern: /no CUDA-capable device|Cannot find any available devices|Cannot find device ID/,
    advice: 'no GPU is to be seen: give the container one (docker run --gpus), or another --device',
  },
  {
    pattern: /driver version is insufficient|no kernel image is available|forward compatibility/,
    advice: 'the driver or the GPU is too old for this TensorRT: take an older container image, or a newer driver',
  },
  {
    pattern: /[Oo]ut ?[Oo]f ?[Mm]emory|Requested amount of GPU memory/,
    advice:
      'the GPU memory does not do: stop what else uses the GPU, give a smaller --workspace, or a smaller --max-batch',
  },
  {
    pattern: /Could not find any implementation for node/,
    advice: 'no kernel fits into the workspace: give a larger --workspace',
  },
  {
    pattern: /No importer registered for op|UNSUPPORTED_NODE|unsupported operator|Plugin not found/,
    advice: 'this TensorRT does not know an operator of the model: take a newer one, or export the model with opset 17',
  },
  {
    pattern: /Unknown option|[Ii]nvalid argument|conversion failure/,
    advice: 'this trtexec does not know the options: TensorRT 10 or newer is needed',
  },
  {
    pattern: /No space left on device|Saving engine to file failed|Cannot write/,
    advice: 'the engine could not be written: make room, or see to the rights of the folder',
  },
];

export type BuildEnd = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** Undefined where nothing is known of it. */
export function adviceFor(tail: string, { code, signal }: BuildEnd): string | undefined {
  const found = REMEDIES.find(({ pattern }) => pattern.test(tail));
  if (found !== undefined) return found.advice;
  // A shell in between makes an exit code of the signal.
  if (signal !== 'SIGKILL' && code !== 137) return undefined;
  return 'it was killed: most likely the memory of the machine or its container ran out';
}
