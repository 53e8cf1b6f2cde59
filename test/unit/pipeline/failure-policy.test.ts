import { describe, expect, it } from 'vitest';
import { type ErrorCode, errorCodes, ServingError } from '../../../src/errors.ts';
import { decide, defaultFailurePolicy } from '../../../src/pipeline/failure-policy.ts';

const kindOf = (code: ErrorCode, number: number, rows: number, suspicious = false) =>
  decide(new ServingError(code, 'x'), { number, rows, suspicious, oddAnswers: number }, defaultFailurePolicy, 0).kind;

/** Code → decisions at: attempt 1 of 256 rows, attempt 1,000 of 256, attempt 1 of one row, attempt 1,000 of one, two suspicious rows. */
const TABLE: Readonly<Partial<Record<ErrorCode, readonly [string, string, string, string, string]>>> = {
  INFERENCE_QUEUE_FULL: ['retry', 'retry', 'retry', 'retry', 'retry'],
  INFERENCE_QUEUE_TIMEOUT: ['retry', 'retry', 'retry', 'retry', 'retry'],
  MODEL_NOT_READY: ['retry', 'retry', 'retry', 'retry', 'retry'],
  BREAKER_OPEN: ['retry', 'retry', 'retry', 'retry', 'retry'],
  OVERLOADED: ['retry', 'retry', 'retry', 'retry', 'retry'],
  RETRIEVAL_DEADLINE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  SHM_REGION_EXISTS: ['retry', 'retry', 'retry', 'retry', 'retry'],
  SHM_REGION_UNKNOWN: ['retry', 'retry', 'retry', 'retry', 'retry'],
  SINK_UNAVAILABLE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  SINK_FULL: ['retry', 'retry', 'retry', 'retry', 'retry'],
  KAFKA_UNAVAILABLE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  RETRY_QUEUE_UNAVAILABLE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  RETRY_QUEUE_FULL: ['retry', 'retry', 'retry', 'retry', 'retry'],
  SPOT_METADATA_UNAVAILABLE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  SCHEMA_REGISTRY_UNAVAILABLE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  OPS_UNAVAILABLE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  REGISTRY_UNAVAILABLE: ['retry', 'retry', 'retry', 'retry', 'retry'],
  DRAIN_TIMEOUT: ['retry', 'retry', 'retry', 'retry', 'retry'],
  INFERENCE_UNAVAILABLE: ['retry', 'doubt', 'retry', 'doubt', 'doubt'],
  INFERENCE_CANCELLED: ['retry', 'doubt', 'retry', 'doubt', 'doubt'],
  INFERENCE_DEADLINE: ['smaller', 'smaller', 'retry', 'doubt', 'smaller'],
  INFERENCE_FAILED: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  INFERENCE_REJECTED: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  INFERENCE_MESSAGE_TOO_LARGE: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  VECTOR_NOT_FINITE: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  VECTOR_ZERO: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  VECTOR_NOT_UNIT: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  CHUNK_INVALID: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  CHUNK_BLANK: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  CHUNK_TOO_LARGE: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  VALUE_UNDECODABLE: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  SCHEMA_UNKNOWN: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  SCHEMA_INVALID: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
  INFERENCE_RESPONSE_INVALID: ['retry', 'stop', 'retry', 'stop', 'retry'],
  SHM_INVALID: ['retry', 'stop', 'retry', 'stop', 'retry'],
  SINK_ROW_REFUSED: ['isolate', 'isolate', 'suspect', 'suspect', 'isolate'],
};

describe('decide', () => {
  for (const code of errorCodes) {
    const expected = TABLE[code] ?? ['stop', 'stop', 'stop', 'stop', 'stop'];
    it(`${code}: ${[...new Set(expected)].join(', ')}`, () => {
      const decisions = [
        kindOf(code, 1, 256),
        kindOf(code, 1_000, 256),
        kindOf(code, 1, 1),
        kindOf(code, 1_000, 1),
        kindOf(code, 1, 2, true),
      ];
      expect(decisions).toEqual(expected);
    });
  }

  it('whoever stops is of class fatal or caller: neither an outage nor a chunk ends the worker', () => {
    const stopping = errorCodes.filter((code) => kindOf(code, 1_000, 256) === 'stop');
    const classes = new Set(stopping.map((code) => new ServingError(code, 'x').failureClass));
    expect([...classes].sort()).toEqual(['caller', 'fatal']);
  });

  it('waits longer each time, up to the cap', () => {
    const delays = [1, 2, 3, 50].map((number) => {
      const attempt = { number, rows: 1, suspicious: false, oddAnswers: 0 };
      const decision = decide(new ServingError('SINK_UNAVAILABLE', 'x'), attempt, defaultFailurePolicy, 1);
      return decision.kind === 'retry' ? decision.delayMs : -1;
    });
    expect(delays).toEqual([200, 400, 800, 5_000]);
  });

  it('waits at least for as long as an open breaker says', () => {
    const open = new ServingError('BREAKER_OPEN', 'x', { details: { retryInMs: 3_000 } });
    const decision = decide(open, { number: 1, rows: 1, suspicious: false, oddAnswers: 0 }, defaultFailurePolicy, 0);
    expect(decision).toEqual({ kind: 'retry', delayMs: 3_000 });
  });
});
