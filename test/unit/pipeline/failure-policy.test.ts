import { describe, expect, it } from 'vitest';
import { type ErrorCode, errorCodes, ServingError } from '../../../src/errors.ts';
import { decide, defaultFailurePolicy } from '../../../src/pipeline/failure-policy.ts';

const kindOf = (code: ErrorCode, attempt: number, rows: number) =>
  decide(new ServingError(code, 'x'), attempt, rows, defaultFailurePolicy, 0).kind;

describe('decide', () => {
  const cases: { code: ErrorCode; attempt: number; rows: number; kind: string }[] = [
    { code: 'INFERENCE_UNAVAILABLE', attempt: 1_000, rows: 1, kind: 'retry' },
    { code: 'INFERENCE_DEADLINE', attempt: 1_000, rows: 256, kind: 'retry' },
    { code: 'INFERENCE_QUEUE_FULL', attempt: 1_000, rows: 256, kind: 'retry' },
    { code: 'MODEL_NOT_READY', attempt: 1_000, rows: 1, kind: 'retry' },
    { code: 'SINK_FULL', attempt: 1_000, rows: 1, kind: 'retry' },
    { code: 'KAFKA_UNAVAILABLE', attempt: 1_000, rows: 1, kind: 'retry' },
    { code: 'INFERENCE_FAILED', attempt: 1, rows: 256, kind: 'retry' },
    { code: 'INFERENCE_FAILED', attempt: 3, rows: 256, kind: 'isolate' },
    { code: 'INFERENCE_FAILED', attempt: 3, rows: 1, kind: 'suspect' },
    { code: 'INFERENCE_REJECTED', attempt: 1, rows: 256, kind: 'isolate' },
    { code: 'INFERENCE_MESSAGE_TOO_LARGE', attempt: 1, rows: 2, kind: 'isolate' },
    { code: 'INFERENCE_MESSAGE_TOO_LARGE', attempt: 1, rows: 1, kind: 'suspect' },
    { code: 'SINK_ROW_REFUSED', attempt: 1, rows: 1, kind: 'suspect' },
    { code: 'MODEL_CONTRACT_MISMATCH', attempt: 1, rows: 256, kind: 'stop' },
    { code: 'SINK_SCHEMA_MISMATCH', attempt: 1, rows: 1, kind: 'stop' },
    { code: 'INFERENCE_CANCELLED', attempt: 1, rows: 1, kind: 'retry' },
    { code: 'ARGUMENT_INVALID', attempt: 1, rows: 1, kind: 'stop' },
  ];
  for (const { code, attempt, rows, kind } of cases) {
    it(`${code}, attempt ${attempt}, ${rows} rows: ${kind}`, () => expect(kindOf(code, attempt, rows)).toBe(kind));
  }

  it('no outage and no backpressure ever blames a chunk, but INTERNAL', () => {
    const blamed = errorCodes.filter((code) => {
      const { failureClass } = new ServingError(code, 'x');
      return (failureClass === 'outage' || failureClass === 'backpressure') && kindOf(code, 10_000, 1) !== 'retry';
    });
    expect(blamed).toEqual(['INFERENCE_FAILED']);
  });

  it('waits longer each time, up to the cap', () => {
    const delays = [1, 2, 3, 50].map((attempt) => {
      const decision = decide(new ServingError('SINK_UNAVAILABLE', 'x'), attempt, 1, defaultFailurePolicy, 1);
      return decision.kind === 'retry' ? decision.delayMs : -1;
    });
    expect(delays).toEqual([200, 400, 800, 5_000]);
  });
});
