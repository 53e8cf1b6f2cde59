/**
 * Whether the engine is well: it embeds a text that is known to be good, and what comes back can be stored.
 *
 * Asked before a chunk is blamed, because a failed call alone does not say whose fault it was.
 */
import { asServingError, ServingError } from '../errors.ts';
import type { VectorContract } from '../kserve/contract.ts';
import type { EmbedTransport } from './transport.ts';
import { type VectorNorm, vectorRows } from './vector-rows.ts';

const KNOWN_GOOD_TEXT = 'The quick brown fox jumps over the lazy dog.';

export type EngineProbe = {
  readonly transport: EmbedTransport;
  readonly contract: VectorContract;
  readonly norm: VectorNorm;
};

/** Undefined for a sound engine, or what is wrong with it. Rejects with a fatal ServingError or the signal's reason. */
export async function engineFault(
  { transport, contract, norm }: EngineProbe,
  signal: AbortSignal,
): Promise<ServingError | undefined> {
  try {
    const { vectors } = await transport.embed([KNOWN_GOOD_TEXT], undefined, signal);
    const [row] = vectorRows(vectors, 1, contract, norm);
    return row?.kind === 'faulty' ? row.error : undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    const error = asServingError(thrown);
    if (error.failureClass === 'fatal') throw error;
    return error;
  }
}

/** For a worker that starts: a model whose vectors have another length than promised would spoil a whole collection. */
export async function refuseWrongNorm(probe: EngineProbe, signal: AbortSignal): Promise<void> {
  if (probe.norm === 'any') return;
  const fault = await engineFault(probe, signal);
  if (fault?.code !== 'VECTOR_NOT_UNIT') return;
  throw new ServingError(
    'MODEL_CONTRACT_MISMATCH',
    `${fault.message}: the pipeline expects a model that normalises its vectors; add L2 normalisation to the model, or set RAG_SERVING_VECTOR_NORM=any`,
    { cause: fault },
  );
}
