/** How often each model inferred since it was loaded, from Triton's statistics over HTTP. Pure. */
import { z } from 'zod';

const statisticsSchema = z.object({
  model_stats: z.array(z.object({ name: z.string(), inference_count: z.coerce.number().nonnegative().default(0) })),
});

/** Versions of a model together. Undefined for what is no such answer. */
export function readInferenceCounts(answer: unknown): ReadonlyMap<string, number> | undefined {
  const parsed = statisticsSchema.safeParse(answer);
  if (!parsed.success) return undefined;
  const counts = new Map<string, number>();
  for (const { name, inference_count } of parsed.data.model_stats) {
    counts.set(name, (counts.get(name) ?? 0) + inference_count);
  }
  return counts;
}
