/** The shapes that an engine is built for: from one token to the most that its pool allows, best at what the pool sees most. Pure. */
import type { EncoderInput } from '../model-config/tensor-contract.ts';
import type { Pool } from '../pools.ts';

export type Extent = { readonly batch: number; readonly tokens: number };

export type EngineShapes = { readonly min: Extent; readonly opt: Extent; readonly max: Extent };

export function profileShapes(
  pool: Pool,
  { maxBatch = pool.maxBatch, maxTokens = pool.maxTokens }: { readonly maxBatch?: number; readonly maxTokens?: number },
): EngineShapes {
  return {
    min: { batch: 1, tokens: 1 },
    // A smaller engine than the pool's has a smaller middle: TensorRT refuses one outside of min and max.
    opt: { batch: Math.min(pool.usual.batch, maxBatch), tokens: Math.min(pool.usual.tokens, maxTokens) },
    max: { batch: maxBatch, tokens: maxTokens },
  };
}

/** All inputs have one shape: a shape that differed would be one that no request has. */
export function shapeSpec(inputs: readonly EncoderInput[], { batch, tokens }: Extent): string {
  return inputs.map((name) => `${name}:${batch}x${tokens}`).join(',');
}
