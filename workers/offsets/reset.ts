/** `rag-serving offsets reset`: moves the group to other offsets while nobody is in it. */
import type { Env } from '../../src/config/env-reader.ts';
import { readProduceConfig } from '../../src/config/tool-programs.ts';
import { ServingError } from '../../src/errors.ts';
import { moveOffsets, offsetsAt, refuseLiveGroup } from '../../src/kafka/group-control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { isConfirmed, refuseSilence } from '../tool/confirm.ts';
import { withKafkaTool } from '../tool/kafka-tool.ts';
import { table } from '../tool/table.ts';
import { type Move, planReset, sumOf, type Target } from './plan.ts';
import { positionsOf } from './positions.ts';
import { SERVICE } from './show.ts';

export type ResetFlags = {
  readonly toEarliest?: true;
  readonly toLatest?: true;
  readonly toTime?: number;
  readonly toOffset?: bigint;
  readonly partition?: readonly number[];
  readonly skipUnread?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
};

export function runReset(flags: ResetFlags, env: Env): Promise<ExitCode> {
  const target = targetOf(flags);
  const { partition = [], dryRun = false, yes = false, json = false } = flags;
  if (!dryRun) refuseSilence(yes);
  const config = readProduceConfig(env);
  const { topic, consumerGroup: group } = config.kafka;
  return withKafkaTool(config, SERVICE, async ({ admin }, signal) => {
    const positions = await positionsOf(admin, group, topic);
    const atTime = target.kind === 'time' ? await offsetsAt(admin, topic, target.atMs) : new Map<number, bigint>();
    const moves = planReset(positions, target, partition, atTime).filter(({ from, to }) => from !== to);
    const [again, skipped] = [sumOf(moves, 'again'), sumOf(moves, 'skipped')];
    const what = `${moves.length} partitions of ${topic} for group ${group}: ${again} records are read again, ${skipped} are skipped`;
    if (!json) process.stdout.write(tableOf(moves));
    if (!dryRun && moves.length > 0) {
      if (skipped > 0n && flags.skipUnread !== true) {
        throw new ServingError(
          'ARGUMENT_INVALID',
          `${skipped} records after the committed offsets would be skipped, and what nobody has read of them is never embedded; if that is meant, add --skip-unread`,
        );
      }
      await refuseLiveGroup(admin, group);
      if (!(await isConfirmed(`Move ${what}?`, yes, signal))) {
        process.stderr.write('nothing was moved\n');
        return exitCodes.done;
      }
      await moveOffsets(admin, group, topic, new Map(moves.map(({ partition: one, to }) => [one, to])));
    }
    process.stdout.write(json ? `${JSON.stringify(asJson(moves, { topic, group, dryRun }))}\n` : said(what, dryRun));
    return exitCodes.done;
  });
}

function targetOf({ toEarliest, toLatest, toTime, toOffset }: ResetFlags): Target {
  const given: Target[] = [];
  if (toEarliest === true) given.push({ kind: 'earliest' });
  if (toLatest === true) given.push({ kind: 'latest' });
  if (toTime !== undefined) given.push({ kind: 'time', atMs: toTime });
  if (toOffset !== undefined) given.push({ kind: 'offset', offset: toOffset });
  const [target, another] = given;
  if (target !== undefined && another === undefined) return target;
  throw new ServingError(
    'ARGUMENT_INVALID',
    `give one of --to-earliest, --to-latest, --to-time and --to-offset, not ${given.length}`,
  );
}

function said(what: string, dryRun: boolean): string {
  return `${dryRun ? 'would move' : 'moved'} ${what}\n`;
}

function tableOf(moves: readonly Move[]): string {
  const rows = moves.map(({ partition, from, to, again, skipped }) =>
    [partition, from, to, again, skipped].map((cell) => (cell === undefined ? undefined : String(cell))),
  );
  return rows.length === 0 ? '' : table(['PARTITION', 'FROM', 'TO', 'READ AGAIN', 'SKIPPED'], rows);
}

function asJson(
  moves: readonly Move[],
  about: { readonly topic: string; readonly group: string; readonly dryRun: boolean },
) {
  const partitions = moves.map(({ partition, from, to, again, skipped }) => ({
    partition,
    from: from === undefined ? null : String(from),
    to: String(to),
    again: String(again),
    skipped: String(skipped),
  }));
  return { event: 'offsets-reset', ...about, partitions };
}
