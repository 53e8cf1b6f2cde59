/** What is asked of the store and the broker before readers are switched, and by `verify`. */
import { ServingError } from '../../src/errors.ts';
import { type Committed, compare } from './compare.ts';
import type { Facts } from './guard.ts';
import { lagOf, look, type Tool } from './open.ts';
import { shadowGroup } from './shadow.ts';

export async function factsOf(tool: Tool, to: string, sample: number | undefined, signal: AbortSignal): Promise<Facts> {
  const { changeover, config, base } = tool;
  const current = changeover.current ?? base;
  if (to === current) throw argument(`${to} is what readers of ${base} find already`);
  const old = await look(tool, current, signal);
  const fresh = await look(tool, to, signal);
  try {
    if (fresh === undefined)
      throw argument(`collection ${to} does not exist: fill it with rag-serving reembed start --to ${to}`);
    if (old === undefined) throw argument(`collection ${current} does not exist: there is nothing to compare with`);
    const group = shadowGroup(config.kafka.consumerGroup, to);
    const { fingerprint } = fresh.description;
    const { topic } = config.kafka;
    const options = {
      from: old.sink,
      to: fresh.sink,
      fingerprint,
      topic,
      committed: await committedOf(tool, group),
      sample,
    };
    const lag = await lagOf(tool, group);
    const comparison = await compare(options, signal);
    return { to, run: changeover.runs[to], old: old.description, fresh: fresh.description, lag, comparison };
  } finally {
    await Promise.all([old?.sink.close(), fresh?.sink.close()]);
  }
}

/** A partition without a commit is still to be read whole. */
async function committedOf({ kafka, config }: Tool, group: string): Promise<Committed> {
  if (kafka === undefined) return new Map();
  const held = await kafka.committedOffsets(group, config.kafka.topic);
  return new Map(Array.from(held, ([partition, offset]) => [partition, offset < 0n ? 0n : offset]));
}

function argument(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
