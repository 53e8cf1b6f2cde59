/** Why a rerank came back in the incoming order: a closed list, so that it can be a label and a switch. */
import { type ErrorCode, isServingError, type ServingError } from '../src/errors.ts';

export const degradedReasons = [
  /** Reranking is switched off. */
  'off',
  /** The client is closed. */
  'closed',
  /** The model has not been seen yet, is not loaded, or is not the model expected. */
  'not-ready',
  /** The query has no words to compare with. */
  'blank-query',
  /** Too little time was left to ask. */
  'deadline-near',
  /** No answer in time. */
  'deadline',
  /** As many calls as allowed are under way here, or the queue of the model is full. */
  'overload',
  /** The model server failed so often that it is not asked for a while. */
  'breaker-open',
  /** The model server cannot be reached. */
  'unavailable',
  /** The model failed or refused the request. */
  'error',
  /** The answer has too few or too many scores, or one that is no number. */
  'bad-scores',
] as const;

export type DegradedReason = (typeof degradedReasons)[number];

const REASON_OF: Readonly<Partial<Record<ErrorCode, DegradedReason>>> = {
  BREAKER_OPEN: 'breaker-open',
  OVERLOADED: 'overload',
  INFERENCE_QUEUE_FULL: 'overload',
  INFERENCE_QUEUE_TIMEOUT: 'overload',
  INFERENCE_DEADLINE: 'deadline',
  INFERENCE_UNAVAILABLE: 'unavailable',
  INFERENCE_RESPONSE_INVALID: 'bad-scores',
  MODEL_NOT_READY: 'not-ready',
  MODEL_CONTRACT_MISMATCH: 'not-ready',
};

export function degradedReasonOf(error: ServingError): DegradedReason {
  if (isServingError(error, 'INFERENCE_DEADLINE') && error.details.asked === false) return 'deadline-near';
  return REASON_OF[error.code] ?? 'error';
}
