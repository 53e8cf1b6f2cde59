/**
 * How the next step of a job is written into BullMQ. Each is one script in Redis, so it happens whole or not at all, and only
 * while the job's lock is ours.
 */
import type { Job } from 'bullmq';
import type { StoredRecord } from './job-record.ts';
import type { NextStep } from './next-step.ts';

export type QueuedJob = Job<StoredRecord>;

/** Carries the wait to BullMQ, which asks for it with the error; without a stack, for BullMQ stores that in Redis. */
class RetryLater extends Error {
  readonly delayMs: number;

  constructor(reason: string, delayMs: number) {
    super(reason);
    this.delayMs = delayMs;
    this.stack = '';
  }
}

/** For BullMQ's settings: the wait is decided here, not there. */
export function backoffStrategy(_attempts: number, _type?: string, error?: Error): number {
  return error instanceof RetryLater ? error.delayMs : 1;
}

/** @param nowMs wall clock */
export async function takeStep(job: QueuedJob, step: NextStep, nowMs: number): Promise<void> {
  const token = job.token ?? '';
  switch (step.kind) {
    case 'remove':
      await job.moveToCompleted(null, token, false);
      return;
    case 'release':
      await job.moveToWait(token);
      return;
    case 'delay': {
      const delayMs = Math.max(1, Math.round(step.delayMs));
      // BullMQ counts the first of the two as an attempt.
      if (step.attempt !== undefined) await job.moveToFailed(new RetryLater(step.attempt, delayMs), token, false);
      else await job.moveToDelayed(nowMs + delayMs, token);
    }
  }
}
