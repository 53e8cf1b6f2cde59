/**
 * Runs a graph on a CPU at the corners of its profile, so that one that cannot do its longest input is refused in seconds and not after an
 * hour on a GPU. The largest corners would take hours here: what is above the budget is left out, and told.
 */
import { ServingError } from '../../src/errors.ts';
import { type Output, TrialSession } from '../export-onnx/parity/session.ts';
import type { EncoderInput } from '../model-config/tensor-contract.ts';
import { DataType } from '../onnx/tensors.ts';
import type { EngineShapes, Extent } from './profile-shapes.ts';

export type Corner = Extent & { readonly ran: boolean };

export type TrialRequest = {
  readonly path: string;
  readonly inputs: readonly EncoderInput[];
  readonly output: 'EMBEDDING' | 'SCORE';
  /** Whether rows are of length 1. */
  readonly normalized: boolean;
  readonly shapes: EngineShapes;
  /** Ids are below it. */
  readonly vocabulary: number;
  /** Tokens of a corner, padding included. */
  readonly budgetTokens: number;
  readonly threads: number;
};

/** Length of a row may differ from 1 by this: FP16 has three digits. */
const LENGTH_WITHIN = 0.01;

/** Each corner once, the smallest first. Pure. */
export function cornersOf({ min, opt, max }: EngineShapes, budgetTokens: number): Corner[] {
  const wanted = [min, { batch: 1, tokens: max.tokens }, { batch: max.batch, tokens: 1 }, opt, max];
  const named = new Map(wanted.map((extent) => [`${extent.batch}x${extent.tokens}`, extent]));
  return [...named.values()]
    .map((extent) => ({ ...extent, ran: extent.batch * extent.tokens <= budgetTokens }))
    .sort((a, b) => a.batch * a.tokens - b.batch * b.tokens);
}

/** Throws ENGINE_MODEL_INVALID for a graph that fails at a corner, or whose rows are not finite. */
export async function tryCorners(
  request: TrialRequest,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<Corner[]> {
  const corners = cornersOf(request.shapes, request.budgetTokens);
  const session = await TrialSession.open({
    path: request.path,
    inputs: request.inputs.map((name) => ({ name, original: name, type: DataType.INT64 })),
    output: request.output,
    padTokenId: 0,
    threads: request.threads,
  });
  try {
    for (const corner of corners) {
      const { batch, tokens, ran } = corner;
      signal.throwIfAborted();
      if (!ran) {
        onProgress(`not tried: ${batch} × ${tokens} tokens (over ${request.budgetTokens}; --trial-tokens)`);
        continue;
      }
      const output = await runCorner(session, request, corner);
      const fault = outputFault(output, batch, request.normalized);
      if (fault !== undefined) throw refused(request, corner, fault);
      onProgress(`tried: ${batch} × ${tokens} tokens`);
    }
    return corners;
  } finally {
    await session.close();
  }
}

async function runCorner(session: TrialSession, request: TrialRequest, { batch, tokens }: Corner): Promise<Output> {
  const sequences = Array.from({ length: batch }, (_, row) => ({
    // Any ids do; a prime stride visits the whole table.
    ids: Array.from({ length: tokens }, (_, at) => (row * 31 + at * 7919) % request.vocabulary),
    types: Array<number>(tokens).fill(0),
  }));
  try {
    return await session.run(sequences);
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.split('\n')[0]! : String(cause);
    throw refused(request, { batch, tokens }, `it cannot be run: ${said}`, cause);
  }
}

function refused({ path }: TrialRequest, { batch, tokens }: Extent, fault: string, cause?: unknown): ServingError {
  return new ServingError('ENGINE_MODEL_INVALID', `${path} at ${batch} rows of ${tokens} tokens: ${fault}`, { cause });
}

/** What is wrong with the rows that came back. Pure. */
export function outputFault({ values, dims }: Output, batch: number, normalized: boolean): string | undefined {
  const [rows, width = 0] = dims;
  if (dims.length !== 2 || rows !== batch) return `its output is [${dims.join(', ')}], not ${batch} rows`;
  for (let row = 0; row < batch; row++) {
    const one = values.subarray(row * width, (row + 1) * width);
    if (!one.every(Number.isFinite)) return `row ${row} is not finite`;
    const length = Math.hypot(...one);
    if (normalized && Math.abs(length - 1) > LENGTH_WITHIN)
      return `row ${row} has length ${length.toPrecision(4)}, not 1`;
  }
  return undefined;
}
