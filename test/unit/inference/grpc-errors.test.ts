import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { ErrorCode, FailureClass } from '../../../src/errors.ts';
import { type CallKind, fromGrpcError } from '../../../src/inference/grpc-errors.ts';
import { createRedactor } from '../../../src/telemetry/redaction.ts';

function grpcError(code: status, details: string): ServiceError {
  return Object.assign(new Error(`${code} ${details}`), { code, details, metadata: new Metadata() });
}

type Row = {
  readonly status: keyof typeof status;
  readonly text: string;
  readonly kind?: CallKind;
  readonly code: ErrorCode;
  readonly class: FailureClass;
};

const rows: readonly Row[] = [
  {
    status: 'UNAVAILABLE',
    text: '[request id: <id_unknown>] Exceeds maximum queue size',
    code: 'INFERENCE_QUEUE_FULL',
    class: 'backpressure',
  },
  {
    status: 'UNAVAILABLE',
    text: '[request id: 7] Request timeout expired',
    code: 'INFERENCE_QUEUE_TIMEOUT',
    class: 'backpressure',
  },
  {
    status: 'UNAVAILABLE',
    text: "request specifies invalid shape for input 'ids' for m_0. Error details: binding dimension 1",
    code: 'INFERENCE_REJECTED',
    class: 'chunk',
  },
  {
    status: 'UNAVAILABLE',
    text: "Request for unknown model: 'm' version 1 is not at ready state",
    code: 'MODEL_NOT_READY',
    class: 'outage',
  },
  {
    status: 'UNAVAILABLE',
    text: "Request for unknown model: 'm' has no available versions",
    code: 'MODEL_NOT_READY',
    class: 'outage',
  },
  {
    status: 'UNAVAILABLE',
    text: 'Server is stopping, scheduler for model has stopped accepting new inference requests',
    code: 'MODEL_NOT_READY',
    class: 'outage',
  },
  { status: 'UNAVAILABLE', text: 'model is unloaded', code: 'MODEL_NOT_READY', class: 'outage' },
  {
    status: 'UNAVAILABLE',
    text: 'No connection established. Last error: connect ECONNREFUSED',
    code: 'INFERENCE_UNAVAILABLE',
    class: 'outage',
  },
  { status: 'UNAVAILABLE', text: 'Connection dropped', code: 'INFERENCE_UNAVAILABLE', class: 'outage' },
  {
    status: 'UNAVAILABLE',
    text: 'No connection established. Last error: certificate has expired',
    code: 'INFERENCE_UNAVAILABLE',
    class: 'outage',
  },
  {
    status: 'RESOURCE_EXHAUSTED',
    text: 'Received message larger than max (33816626 vs. 4194304)',
    code: 'INFERENCE_MESSAGE_TOO_LARGE',
    class: 'chunk',
  },
  {
    status: 'RESOURCE_EXHAUSTED',
    text: 'Bandwidth exhausted or memory limit exceeded',
    code: 'INFERENCE_QUEUE_FULL',
    class: 'backpressure',
  },
  {
    status: 'NOT_FOUND',
    text: "Unable to find shared memory region: 'rag-1'",
    kind: 'infer',
    code: 'SHM_REGION_UNKNOWN',
    class: 'outage',
  },
  {
    status: 'NOT_FOUND',
    text: "Unable to find system shared memory region: 'rag-1'",
    kind: 'shared-memory',
    code: 'SHM_REGION_UNKNOWN',
    class: 'outage',
  },
  {
    status: 'NOT_FOUND',
    text: "Request for unknown model: 'm' is not found",
    kind: 'infer',
    code: 'MODEL_NOT_READY',
    class: 'outage',
  },
  {
    status: 'INTERNAL',
    text: "Cannot unregister shared memory region 'rag-1', it is currently in use.",
    kind: 'shared-memory',
    code: 'SHM_REGION_EXISTS',
    class: 'outage',
  },
  {
    status: 'ALREADY_EXISTS',
    text: "shared memory region 'rag-1' already in manager",
    kind: 'shared-memory',
    code: 'SHM_REGION_EXISTS',
    class: 'outage',
  },
  {
    status: 'INVALID_ARGUMENT',
    text: "Unable to find shared memory region: 'rag-1'",
    code: 'SHM_REGION_UNKNOWN',
    class: 'outage',
  },
  {
    status: 'INVALID_ARGUMENT',
    text: "Invalid offset + byte size for shared memory region: 'rag-1'",
    code: 'SHM_INVALID',
    class: 'fatal',
  },
  {
    status: 'INVALID_ARGUMENT',
    text: "failed to register shared memory region 'rag-1': invalid args",
    kind: 'shared-memory',
    code: 'SHM_INVALID',
    class: 'fatal',
  },
  {
    status: 'INVALID_ARGUMENT',
    text: 'inference request batch-size must be <= 32',
    code: 'INFERENCE_REJECTED',
    class: 'chunk',
  },
  {
    status: 'UNIMPLEMENTED',
    text: "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
    kind: 'shared-memory',
    code: 'SHM_UNSUPPORTED',
    class: 'fatal',
  },
  {
    status: 'UNIMPLEMENTED',
    text: 'The server does not implement the method /inference.…',
    kind: 'shared-memory',
    code: 'SHM_UNSUPPORTED',
    class: 'fatal',
  },
  {
    status: 'UNIMPLEMENTED',
    text: 'The server does not implement the method /inference.…',
    kind: 'infer',
    code: 'INFERENCE_UNSUPPORTED',
    class: 'fatal',
  },
  {
    status: 'INTERNAL',
    text: "Unable to open shared memory region: '/rag-1'",
    kind: 'shared-memory',
    code: 'SHM_UNSUPPORTED',
    class: 'fatal',
  },
  {
    status: 'INTERNAL',
    text: "Invalid shared memory region: '/rag-1'",
    kind: 'shared-memory',
    code: 'SHM_REGION_EXISTS',
    class: 'outage',
  },
  {
    status: 'INTERNAL',
    text: "shared memory size specified with the request for output 'EMBEDDING' (16 bytes) should be at least 768 bytes to hold the results",
    code: 'SHM_INVALID',
    class: 'fatal',
  },
  { status: 'INTERNAL', text: "Stub process 'm_0_0' is not healthy.", code: 'INFERENCE_FAILED', class: 'outage' },
  { status: 'INTERNAL', text: 'CUDA error: out of memory', code: 'INFERENCE_FAILED', class: 'outage' },
  {
    status: 'INTERNAL',
    text: 'Response message parsing error: premature EOF',
    code: 'INFERENCE_RESPONSE_INVALID',
    class: 'fatal',
  },
  { status: 'DEADLINE_EXCEEDED', text: 'Deadline exceeded after 0.300s', code: 'INFERENCE_DEADLINE', class: 'outage' },
  { status: 'CANCELLED', text: 'Call cancelled', code: 'INFERENCE_UNAVAILABLE', class: 'outage' },
  { status: 'UNAUTHENTICATED', text: 'no token', code: 'INFERENCE_ACCESS_DENIED', class: 'fatal' },
  {
    status: 'PERMISSION_DENIED',
    text: "This protocol is restricted, expecting header 'triton-grpc-protocol-shared-memory'",
    kind: 'shared-memory',
    code: 'INFERENCE_ACCESS_DENIED',
    class: 'fatal',
  },
  { status: 'UNKNOWN', text: 'Failed to process the request(s)', code: 'INFERENCE_FAILED', class: 'outage' },
];

describe('gRPC status to error', () => {
  for (const { status: name, text, kind = 'infer', code, class: failureClass } of rows) {
    it(`${name} "${text.slice(0, 60)}" on ${kind} is ${code}`, () => {
      const cause = grpcError(status[name], text);
      const error = fromGrpcError(cause, { kind, method: 'ModelInfer', endpoint: 'h:8001', aborted: false });
      expect([error.code, error.failureClass]).toEqual([code, failureClass]);
      if (kind !== 'infer') expect(error.cause).toBe(cause);
      expect(error.message).toContain('ModelInfer at h:8001');
      expect(error.details).toMatchObject({ status: name, endpoint: 'h:8001' });
    });
  }

  it('every status but OK has a meaning of its own', () => {
    for (const code of Object.values(status).filter((value): value is status => typeof value === 'number')) {
      if (code === status.OK) continue;
      const error = fromGrpcError(grpcError(code, ''), { kind: 'infer', method: 'M', endpoint: 'h:1', aborted: false });
      expect(error.message).not.toContain('the call failed');
    }
  });

  it('our own cancel is the caller’s, whatever status it ends in', () => {
    for (const code of [status.CANCELLED, status.DEADLINE_EXCEEDED, status.UNAVAILABLE]) {
      const error = fromGrpcError(grpcError(code, ''), { kind: 'infer', method: 'M', endpoint: 'h:1', aborted: true });
      expect(error.code).toBe('INFERENCE_CANCELLED');
    }
  });

  it('no word of the server about an inference reaches a log: a model may quote the text', () => {
    for (const code of Object.values(status).filter((value): value is status => typeof value === 'number')) {
      for (const words of ['SENTINEL', 'failed on row "SENTINEL"', 'ValueError: SENTINEL: connect ECONNREFUSED']) {
        for (const aborted of [false, true]) {
          const call = { kind: 'infer', method: 'ModelInfer', endpoint: 'h:1', aborted } as const;
          const error = fromGrpcError(grpcError(code, words), call);
          expect(JSON.stringify(createRedactor().value(error))).not.toContain('SENTINEL');
        }
      }
    }
  });

  for (const words of [
    'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1',
    'Name resolution failed for target dns:nowhere',
    'Received message larger than max (33816626 vs. 4194304)',
    'read ECONNRESET',
  ]) {
    it(`what the connection says stays in the cause: ${words.slice(0, 32)}`, () => {
      const cause = grpcError(status.UNAVAILABLE, words);
      const call = { kind: 'infer', method: 'ModelInfer', endpoint: 'h:1', aborted: false } as const;
      expect(fromGrpcError(cause, call).cause).toBe(cause);
    });
  }
});
