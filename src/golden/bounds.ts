/** How far a model may be from its reference, by what it computes in. The export's gate and the check of a live model share them. */
export type Bounds = {
  readonly minCosine: number;
  /** Part by which the length of a vector may be off. */
  readonly maxLengthError: number;
  /** Of a score, relative where it is larger than 1. */
  readonly maxScoreError: number;
};

export type Precision = 'FP16' | 'FP32';

export const FP16_BOUNDS: Bounds = { minCosine: 0.9995, maxLengthError: 0.01, maxScoreError: 0.01 };
export const FP32_BOUNDS: Bounds = { minCosine: 0.99999, maxLengthError: 0.0001, maxScoreError: 0.0001 };

export const BOUNDS = { FP16: FP16_BOUNDS, FP32: FP32_BOUNDS } as const satisfies Record<Precision, Bounds>;
