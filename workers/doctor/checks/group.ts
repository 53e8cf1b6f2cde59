/** The consumer group: this user may use it, how it stands, and whether all its members have something to do. */
import { type GroupState, groupState } from '../../../src/kafka/group-control.ts';
import { proveGroupRead } from '../../../src/kafka/rights.ts';
import { groupWords } from '../../status/kafka-view.ts';
import { type Outcome, ok, warn } from '../check.ts';
import type { Parts } from '../parts.ts';

export type GroupFacts = Pick<GroupState, 'state'> & {
  readonly group: string;
  readonly committed: boolean;
  readonly members: number;
  readonly partitions: number;
  readonly lag: bigint;
};

export function groupVerdict({ group, state, committed, members, partitions, lag }: GroupFacts): Outcome {
  const [words] = groupWords(state, members, committed);
  const found = `${group}: ${words}; lag ${lag}`;
  if (members > partitions) {
    return warn(
      `${found}: ${members - partitions} members of ${members} have no partition`,
      'add partitions to the topic, or run fewer workers',
    );
  }
  return ok(found);
}

export async function lookAtGroup({ config, admin, client, found }: Parts): Promise<Outcome> {
  const { consumerGroup: group, topic } = config.kafka;
  await proveGroupRead(client, group);
  const [{ state, members }, lags] = await Promise.all([groupState(admin, group), admin.lag(group, topic)]);
  const lag = lags.reduce((sum, one) => sum + one.lag, 0n);
  const committed = lags.some((one) => one.committed !== undefined);
  return groupVerdict({
    group,
    committed,
    state,
    members: members.length,
    partitions: found.partitions ?? lags.length,
    lag,
  });
}
