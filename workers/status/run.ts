/** `rag-serving status`: everything asked once, offsets a second time for the rate, then told. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import type { Env } from '../../src/config/env-reader.ts';
import { readStatusConfig, type StatusConfig } from '../../src/config/tool-programs.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { interruptible } from '../tool/interruptible.ts';
import { paint, terminalOf } from '../tool/terminal.ts';
import { printWarnings, toolLog } from '../tool/tool-log.ts';
import { StatusBoard } from './board.ts';
import { reportJson } from './json.ts';
import { UNLIMITED } from './layout.ts';
import { type StatusReport, somethingIsAway } from './report.ts';
import { reportLines } from './view.ts';
import { watch } from './watch.ts';

export type StatusFlags = {
  readonly worker?: readonly string[];
  /** Commander's way of `--no-engine`. */
  readonly engine: boolean;
  readonly interval: number;
  readonly refresh: number;
  readonly watch?: true;
  readonly json?: true;
};

const SERVICE = 'rag-serving-status';

export async function runStatus(flags: StatusFlags, env: Env): Promise<ExitCode> {
  const config = readStatusConfig(env);
  printWarnings(config);
  return interruptible((signal) => withBoard(config, flags, (board) => show(board, flags, env, signal)));
}

function show(board: StatusBoard, flags: StatusFlags, env: Env, signal: AbortSignal): Promise<ExitCode> {
  const json = flags.json === true;
  return flags.watch === true
    ? watch({ board, json, env, refreshMs: flags.refresh * 1_000 }, signal)
    : once(board, flags.interval * 1_000, json, env, signal);
}

async function once(
  board: StatusBoard,
  intervalMs: number,
  json: boolean,
  env: Env,
  signal: AbortSignal,
): Promise<ExitCode> {
  await board.look(signal);
  const letter = board.lookAtLastLetter(signal);
  if (intervalMs > 0 && board.report().offsets.kind === 'known') {
    await sleep(intervalMs, undefined, { signal });
    await board.lookAtOffsets(signal);
  }
  await letter;
  signal.throwIfAborted();
  const report = board.report();
  process.stdout.write(json ? `${JSON.stringify(reportJson(report))}\n` : textOf(report, env));
  return somethingIsAway(report) ? exitCodes.failed : exitCodes.done;
}

function textOf(report: StatusReport, env: Env): string {
  const { colours } = terminalOf(process.stdout, env);
  return reportLines(report, UNLIMITED)
    .map((line) => `${paint(line, colours)}\n`)
    .join('');
}

async function withBoard(
  config: StatusConfig,
  { worker = [], engine, interval, watch: watching }: StatusFlags,
  work: (board: StatusBoard) => Promise<ExitCode>,
): Promise<ExitCode> {
  // What is away is part of what is shown; the libraries' own words about it would only disturb the screen.
  const log = config.logLevel === 'INFO' ? silentLog : toolLog(config, SERVICE);
  const client = createKafkaClient({ ...config.kafka, clientId: SERVICE, log });
  const admin = new KafkaAdmin(client);
  const board = new StatusBoard({
    config,
    kafka: { client, admin, log },
    workerUrls: worker,
    askEngines: engine,
    windowMs: watching === true ? Math.max(interval * 1_000, 30_000) : interval * 1_000,
    nowMs: () => systemClock.wallMs(),
  });
  try {
    return await work(board);
  } finally {
    await Promise.all([board.close(), admin.close()]);
  }
}
