/** A golden file from a live model: each row asked alone, so that nothing of its neighbours can be in the reference. */
import { ServingError } from '../errors.ts';
import type { Golden, Producer } from './golden-file.ts';
import { interview } from './interview.ts';
import { type ReadyOptions, untilModelAnswers } from './ready-model.ts';

export type TakeOptions = ReadyOptions & {
  /** For the record: when, and by which version of the program. */
  readonly at: string;
  readonly version: string;
};

/** Throws what kept a row from being answered; a row that is not finite is refused when the file is formatted. */
export async function takeGolden(options: TakeOptions, signal: AbortSignal): Promise<Golden> {
  const { client, model, questions, at, version } = options;
  const { asking, versions } = await untilModelAnswers(options, signal);
  const rows = new Map<number, Float32Array>();
  const asked = await interview(
    {
      ...options,
      ...{ asking, rows: questions.rows.length, repeat: 1, ways: ['alone'] },
      onGiven: ({ index, row }) => rows.set(index, row),
    },
    signal,
  );
  if (asked.stopped !== undefined) throw asked.stopped;
  for (const [index, { label }] of questions.rows.entries()) {
    if (rows.has(index)) continue;
    const failed = asked.failed.find(({ indices }) => indices[0] === index);
    throw new ServingError(failed?.error.code ?? 'INFERENCE_FAILED', `row ${index} (${label}) has no answer`, {
      cause: failed?.error,
    });
  }
  const producer: Producer = {
    ...{ kind: 'endpoint', program: 'rag-serving models golden', version, model, at },
    properties: { target: client.target, versions: versions.join(',') },
  };
  const about = { fingerprint: asking.fingerprint ?? null, producer, maxTokens: null };
  if (questions.kind === 'reranker') {
    const scored = questions.rows.map((row, index) => ({ ...row, score: rows.get(index)![0]! }));
    // What a reranker computes in does not show in its FP32 scores.
    return { ...about, kind: 'reranker', precision: 'FP16', rows: scored };
  }
  const { dims, dtype } = asking.vector!;
  const embedded = questions.rows.map((row, index) => ({ ...row, vector: rows.get(index)! }));
  return { ...about, kind: 'embedder', precision: dtype, dims, dtype, rows: embedded };
}
