/** A due retry through the pipeline, like a chunk from the log; how its journey ends is the verdict on the job. */
import type { DecodeOptions } from '../../src/kafka/decode.ts';
import { decodeOne } from '../../src/kafka/decode-one.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { Outcome } from '../../src/records/outcome.ts';
import type { RetryVerdict, RunRetry } from '../../src/retry/retry-queue.ts';

export function retryRunner(pipeline: Pick<Pipeline, 'accept' | 'draining'>, decode: DecodeOptions): RunRetry {
  return async ({ raw, index, attempt, last }) => {
    const { values } = decode;
    if (values !== undefined && raw.value !== null && !values.canRead(raw.value)) {
      // Rejects when nobody waits for its schema any more: then this attempt was none.
      const unread = await values.prepare(raw.value).then(
        () => false,
        () => true,
      );
      if (unread) return { kind: 'abandoned' };
    }
    return await new Promise((resolve) => {
      if (pipeline.draining) {
        resolve({ kind: 'abandoned' });
        return;
      }
      const record = decodeOne(raw, index, decode, (outcome) => resolve(verdictOf(outcome)));
      pipeline.accept([record.kind === 'chunk' ? { ...record, retry: { attempts: attempt - 1, last } } : record]);
    });
  };
}

function verdictOf(outcome: Outcome): RetryVerdict {
  switch (outcome.kind) {
    case 'handed-over':
      return { kind: 'again', error: outcome.error };
    case 'abandoned':
      return { kind: 'abandoned' };
    case 'persisted':
    case 'deleted':
    case 'superseded':
    case 'dead-lettered':
      return { kind: 'done' };
  }
}
