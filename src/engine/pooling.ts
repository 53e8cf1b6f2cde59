/**
 * Mean pooling with the mask, and L2 normalisation: pure arithmetic on one micro-batch.
 *
 * Rows are padded on the right, so the mask of a row is its length; what lies beyond it never enters the mean.
 */
const MIN_NORM = 1e-12;

/** `hidden` is [rows, width, dims] in row-major order; the result is [rows, dims]. */
export function meanPoolNormalized(hidden: Float32Array, lengths: readonly number[], dims: number): Float32Array {
  const width = hidden.length / (lengths.length * dims);
  const pooled = new Float32Array(lengths.length * dims);
  const sum = new Float64Array(dims);
  lengths.forEach((length, row) => {
    sum.fill(0);
    for (let token = 0; token < length; token++) {
      const start = (row * width + token) * dims;
      for (let d = 0; d < dims; d++) sum[d]! += hidden[start + d]!;
    }
    const count = Math.max(length, 1);
    let squares = 0;
    for (let d = 0; d < dims; d++) squares += (sum[d]! / count) ** 2;
    const scale = 1 / (count * Math.max(Math.sqrt(squares), MIN_NORM));
    for (let d = 0; d < dims; d++) pooled[row * dims + d] = sum[d]! * scale;
  });
  return pooled;
}

export type MicroBatchLimits = { readonly maxRows: number; readonly maxPaddedTokens: number };

/** Indices of the sequences in groups of like length, shortest first. One sequence always fits. */
export function planMicroBatches(lengths: readonly number[], limits: MicroBatchLimits): number[][] {
  const order = lengths.map((_, index) => index).sort((a, b) => lengths[a]! - lengths[b]!);
  const groups: number[][] = [];
  let open: number[] = [];
  for (const index of order) {
    const padded = (open.length + 1) * lengths[index]!;
    if (open.length > 0 && (open.length >= limits.maxRows || padded > limits.maxPaddedTokens)) {
      groups.push(open);
      open = [];
    }
    open.push(index);
  }
  if (open.length > 0) groups.push(open);
  return groups;
}
