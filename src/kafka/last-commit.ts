/** The commit at the end of a membership: what did not stick is committed again while this is still a member. */
import type { Log } from '../telemetry/log.ts';
import { settledWithin } from './bounded.ts';
import type { BrokerView } from './broker-view.ts';
import type { Committer } from './committer.ts';
import { kafkaError } from './kafka-errors.ts';
import type { Partitions } from './partitions.ts';

const ROUNDS = 3;
const VERIFY_TIMEOUT_MS = 2_000;

export type LastCommit = {
  readonly committer: Committer;
  readonly view: BrokerView;
  readonly partitions: Partitions;
  readonly log: Log;
};

/** The broker's own view is the last word. */
export async function commitForGood(
  { committer, view, partitions, log }: LastCommit,
  signal: AbortSignal,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await committer.commit(signal);
    try {
      await settledWithin(view.verify(), VERIFY_TIMEOUT_MS, 'read committed offsets');
    } catch (error) {
      const { code } = kafkaError(error, 'read committed offsets');
      log.warn('last commit acknowledged, but not looked at', { code });
      return;
    }
    if (partitions.plan().length === 0) return;
  }
}
