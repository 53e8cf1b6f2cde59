/** How much GPU memory TensorRT may use for the scratch space of a layer. Pure. */
import { ServingError } from '../../src/errors.ts';

const MIB = 1_048_576;
const SMALLEST_MIB = 256;

/**
 * Half of what the weights leave of the memory that models may hold for good: the other half is for the activations of the largest
 * request. Throws CONFIG_INVALID for a model that does not fit.
 */
export function workspaceMib(maxStaticVramBytes: number, weightBytes: number): number {
  const mib = Math.floor((maxStaticVramBytes - weightBytes) / 2 / MIB);
  if (mib >= SMALLEST_MIB) return mib;
  throw new ServingError(
    'CONFIG_INVALID',
    `RAG_SERVING_MAX_STATIC_VRAM_BYTES (${maxStaticVramBytes}) leaves less than ${SMALLEST_MIB} MiB of workspace beside ${weightBytes} bytes of weights: ` +
      'raise it, or give --workspace MIB',
  );
}
