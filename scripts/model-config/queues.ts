/** The queues before the models of a pool, from the pool's numbers. */
import { type Pool, TOKENIZER_QUEUE_DELAY_MICROSECONDS } from '../pools.ts';
import type { Queue } from './parts.ts';

/** `timeoutMicroseconds`: instead of the pool's deadline. */
export function encoderQueue(pool: Pool, timeoutMicroseconds = pool.queueTimeoutMicroseconds): Queue {
  return {
    delayMicroseconds: pool.queueDelayMicroseconds,
    preferredBatchSizes: pool.preferredBatchSizes,
    maxRequests: pool.maxQueuedRequests,
    timeoutMicroseconds,
  };
}

export function tokenizerQueue(pool: Pool, timeoutMicroseconds = pool.queueTimeoutMicroseconds): Queue {
  return {
    delayMicroseconds: TOKENIZER_QUEUE_DELAY_MICROSECONDS,
    maxRequests: pool.maxQueuedRequests,
    timeoutMicroseconds,
  };
}
