/**
 * What the exported model must say, computed here from the outputs of the unmodified one: the definition of pooling,
 * normalisation and score in plain arithmetic (double precision), written apart from the graph that it checks.
 */
import type { EmbeddingHead, ScoreHead } from '../graph/pooling.ts';
import type { Output } from './session.ts';

/** `lengths`: tokens of each row; what lies behind them is padding. Gives one vector a row. */
export function referenceEmbeddings(hidden: Output, lengths: readonly number[], head: EmbeddingHead): number[][] {
  const [, width = 0, dims = 0] = hidden.dims;
  return lengths.map((length, row) => {
    const state = (token: number, dim: number) => hidden.values[(row * width + token) * dims + dim]!;
    const kept = Array.from({ length: head.matryoshka ?? dims }, (_, dim) => {
      if (head.pooling === 'cls') return state(0, dim);
      let sum = 0;
      for (let token = 0; token < length; token++) sum += state(token, dim);
      return sum / Math.max(length, 1);
    });
    if (!head.normalize) return kept;
    const norm = Math.max(Math.sqrt(kept.reduce((sum, value) => sum + value * value, 0)), 1e-12);
    return kept.map((value) => value / norm);
  });
}

/** Gives one score a row, as a vector of one. */
export function referenceScores(logits: Output, rows: number, head: ScoreHead): number[][] {
  const labels = logits.values.length / rows;
  return Array.from({ length: rows }, (_, row) => {
    const logit = logits.values[row * labels + head.label]!;
    return [head.sigmoid ? 1 / (1 + Math.exp(-logit)) : logit];
  });
}
