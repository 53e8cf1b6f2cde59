/** `rag-serving offsets show`: where the group stands in each partition. */
import type { Env } from '../../src/config/env-reader.ts';
import { readProduceConfig } from '../../src/config/tool-programs.ts';
import { groupState } from '../../src/kafka/group-control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { withKafkaTool } from '../tool/kafka-tool.ts';
import { table } from '../tool/table.ts';
import { positionJson, positionsOf } from './positions.ts';

export type ShowFlags = { readonly json?: true };

export const SERVICE = 'rag-serving-offsets';

export function runShow({ json }: ShowFlags, env: Env): Promise<ExitCode> {
  const config = readProduceConfig(env);
  const { topic, consumerGroup: group } = config.kafka;
  return withKafkaTool(config, SERVICE, async ({ admin }) => {
    const positions = await positionsOf(admin, group, topic);
    const { state, members } = await groupState(admin, group);
    const lag = positions.reduce((sum, one) => sum + one.lag, 0n);
    if (json === true) {
      const partitions = positions.map(positionJson);
      const said = { event: 'offsets', topic, group, state, members: members.length, lag: String(lag), partitions };
      process.stdout.write(`${JSON.stringify(said)}\n`);
      return exitCodes.done;
    }
    const rows = positions.map((one) =>
      [one.partition, one.low, one.committed, one.end, one.lag, one.doneBeyond].map((cell) =>
        cell === undefined ? undefined : String(cell),
      ),
    );
    process.stdout.write(table(['PARTITION', 'OLDEST', 'COMMITTED', 'END', 'LAG', 'DONE BEYOND'], rows));
    process.stdout.write(`group ${group} of topic ${topic}: ${state}, ${members.length} members, lag ${lag}\n`);
    return exitCodes.done;
  });
}
