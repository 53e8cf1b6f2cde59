/** Runs the unmodified and the exported model on the same texts, and judges. */
import type { Bounds } from '../../../src/golden/bounds.ts';
import type { EncoderInput } from '../../model-config/tensor-contract.ts';
import type { ModelInput } from '../graph/inputs.ts';
import type { EmbeddingHead, ScoreHead } from '../graph/pooling.ts';
import { overflows, type Peak, peaksOf, RANGE_OUTPUT } from './range.ts';
import { referenceEmbeddings, referenceScores } from './reference.ts';
import type { Batch } from './sequences.ts';
import { type Output, TrialSession } from './session.ts';
import { type CaseResult, compareScores, compareVectors } from './verdict.ts';

export type Head =
  | { readonly kind: 'embedding'; readonly embedding: EmbeddingHead }
  | { readonly kind: 'score'; readonly score: ScoreHead };

export type GateOptions = {
  readonly reference: { readonly path: string; readonly inputs: readonly ModelInput[]; readonly output: string };
  readonly candidatePath: string;
  /** The model that tells how large the FP16 values become; undefined when nothing is FP16. */
  readonly range?: { readonly path: string; readonly values: readonly string[] } | undefined;
  readonly head: Head;
  readonly batches: readonly Batch[];
  readonly bounds: Bounds;
  readonly padTokenId: number;
  readonly threads: number;
  readonly onProgress: (line: string) => void;
};

export type GateReport = {
  readonly accepted: boolean;
  readonly bounds: Bounds;
  readonly cases: readonly CaseResult[];
  /** Values beyond FP16's range, with the largest magnitude that was seen. */
  readonly overflows: readonly Peak[];
  /** The largest of all values that are computed in FP16. */
  readonly largestHalfValue?: Peak;
};

const INT64 = 7;

export async function runGate(options: GateOptions, signal: AbortSignal): Promise<GateReport> {
  const { head, batches, bounds } = options;
  const compare = head.kind === 'embedding' ? compareVectors : compareScores;
  const expected = await withSession(options, options.reference, async (session) => {
    return await each(batches, signal, options, 'unmodified model', async ({ sequences }) => {
      const output = await session.run(sequences);
      const lengths = sequences.map(({ ids }) => ids.length);
      return head.kind === 'embedding'
        ? referenceEmbeddings(output, lengths, head.embedding)
        : referenceScores(output, sequences.length, head.score);
    });
  });
  const inputs = options.reference.inputs.map(({ name }) => canonical(name));
  const candidate = { path: options.candidatePath, inputs, output: head.kind === 'embedding' ? 'EMBEDDING' : 'SCORE' };
  const given = await withSession(options, candidate, async (session) => {
    return await each(batches, signal, options, 'exported model', async ({ sequences }) =>
      rowsOf(await session.run(sequences)),
    );
  });
  const cases = batches.map(({ name }, index) => compare(name, expected[index]!, given[index]!, bounds));
  const peaks = options.range === undefined ? [] : await measureRange(options, options.range, signal);
  const beyond = overflows(peaks);
  const [largest] = peaks.toSorted((a, b) => b.magnitude - a.magnitude);
  return {
    accepted: beyond.length === 0 && cases.every(({ faults }) => faults.length === 0),
    bounds,
    cases,
    overflows: beyond,
    ...(largest !== undefined && { largestHalfValue: largest }),
  };
}

async function measureRange(
  options: GateOptions,
  range: { readonly path: string; readonly values: readonly string[] },
  signal: AbortSignal,
): Promise<Peak[]> {
  const { inputs } = options.reference;
  return await withSession(options, { path: range.path, inputs, output: RANGE_OUTPUT }, async (session) => {
    // The batch holds the same texts again.
    const alone = options.batches.filter(({ sequences }) => sequences.length === 1);
    const runs = await each(alone, signal, options, 'range of values', async ({ sequences }) => session.run(sequences));
    const magnitudes = runs.map(({ values }) => values);
    return peaksOf(range.values, magnitudes);
  });
}

type Model = { readonly path: string; readonly inputs: readonly ModelInput[]; readonly output: string };

/** One session at a time: two large models need not fit into memory together. */
async function withSession<T>(
  { padTokenId, threads }: GateOptions,
  model: Model,
  work: (session: TrialSession) => Promise<T>,
): Promise<T> {
  const session = await TrialSession.open({ ...model, padTokenId, threads });
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

async function each<T>(
  batches: readonly Batch[],
  signal: AbortSignal,
  { onProgress }: GateOptions,
  what: string,
  work: (batch: Batch) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  onProgress(`parity: ${what}, ${batches.length} batches`);
  for (const batch of batches) {
    signal.throwIfAborted();
    results.push(await work(batch));
  }
  return results;
}

function canonical(name: EncoderInput): ModelInput {
  return { name, original: name, type: INT64 };
}

function rowsOf({ values, dims }: Output): number[][] {
  const width = dims.slice(1).reduce((product, size) => product * size, 1);
  return Array.from({ length: dims[0] ?? 0 }, (_, row) => [...values.subarray(row * width, (row + 1) * width)]);
}
