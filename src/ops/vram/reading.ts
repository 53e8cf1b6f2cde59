/** What Triton's metrics say of GPU memory. Pure: a text in, a reading out. */
import { parseExposition, type Sample } from './exposition.ts';

export type GpuReading = {
  /** As Triton names it; one that it does not name is `gpu`. */
  readonly gpu: string;
  /** Undefined for what cannot be true: NaN, negative, a total of zero, more used than there is. Then both are. */
  readonly bytes: { readonly used: number; readonly total: number } | undefined;
};

export type VramReading =
  | { readonly kind: 'gpus'; readonly gpus: readonly GpuReading[] }
  /** The text is in order and has no series of GPU memory. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreachable'; readonly reason: string };

const USED = 'nv_gpu_memory_used_bytes';
const TOTAL = 'nv_gpu_memory_total_bytes';
/** More than a machine has; each costs a little memory here. */
const MOST_GPUS = 64;

export function readVram(text: string): VramReading {
  const samples = parseExposition(text);
  if (samples === undefined) return { kind: 'unreachable', reason: 'the answer is no Prometheus text' };
  const used = byGpu(samples, USED);
  const total = byGpu(samples, TOTAL);
  const names = [...new Set([...used.keys(), ...total.keys()])].slice(0, MOST_GPUS);
  if (names.length === 0) return { kind: 'absent' };
  return { kind: 'gpus', gpus: names.map((gpu) => ({ gpu, bytes: usable(used.get(gpu), total.get(gpu)) })) };
}

function byGpu(samples: readonly Sample[], name: string): Map<string, number> {
  return new Map(
    samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels.gpu_uuid ?? 'gpu', value]),
  );
}

function usable(used: number | undefined, total: number | undefined): GpuReading['bytes'] {
  if (used === undefined || total === undefined) return undefined;
  const sound = Number.isFinite(used) && Number.isFinite(total) && total > 0 && used >= 0 && used <= total;
  return sound ? { used, total } : undefined;
}
