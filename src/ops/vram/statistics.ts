/**
 * What the models say they hold of GPU memory, from Triton's statistics over HTTP. Pure. Most backends say nothing; then
 * the list is empty, which is not zero bytes.
 */
import { z } from 'zod';

const statisticsSchema = z.object({
  model_stats: z
    .array(
      z.object({
        name: z.string(),
        memory_usage: z
          .array(z.object({ type: z.string(), id: z.coerce.number(), byte_size: z.coerce.number().nonnegative() }))
          .optional(),
      }),
    )
    .optional(),
});

export type GpuHoldings = {
  /** Of the fullest GPU; undefined where no model says anything. */
  readonly fullestBytes: number | undefined;
  readonly byModel: ReadonlyMap<string, number>;
};

/** Undefined for what is no such answer. */
export function readHoldings(answer: unknown): GpuHoldings | undefined {
  const parsed = statisticsSchema.safeParse(answer);
  if (!parsed.success) return undefined;
  const byGpu = new Map<number, number>();
  const byModel = new Map<string, number>();
  for (const { name, memory_usage = [] } of parsed.data.model_stats ?? []) {
    for (const { type, id, byte_size } of memory_usage) {
      if (type.toUpperCase() !== 'GPU') continue;
      byGpu.set(id, (byGpu.get(id) ?? 0) + byte_size);
      byModel.set(name, (byModel.get(name) ?? 0) + byte_size);
    }
  }
  return { fullestBytes: byGpu.size === 0 ? undefined : Math.max(...byGpu.values()), byModel };
}
