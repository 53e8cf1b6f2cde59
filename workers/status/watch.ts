/**
 * `status --watch`: looks again and again until it is stopped. On a terminal the screen is drawn anew; elsewhere each look is a
 * block of lines, or one JSON object. A source that hangs does not hold the others up: what it said last stays.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from '../../src/config/env-reader.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Screen } from '../tool/screen.ts';
import { paint, terminalOf } from '../tool/terminal.ts';
import type { StatusBoard } from './board.ts';
import { reportJson } from './json.ts';
import { UNLIMITED } from './layout.ts';
import { reportLines } from './view.ts';

export type Watching = {
  readonly board: StatusBoard;
  readonly json: boolean;
  readonly env: Env;
  readonly refreshMs: number;
};

/** Resolves with `done` when it is stopped: that is how watching ends. */
export async function watch(watching: Watching, signal: AbortSignal): Promise<ExitCode> {
  const { board, json, env, refreshMs } = watching;
  // Nobody reads any more, so nobody would stop it either.
  const gone = new AbortController();
  process.stdout.once('error', () => gone.abort());
  const stop = AbortSignal.any([signal, gone.signal]);
  const screen = !json && terminalOf(process.stdout, env).screen;
  const draw = screen ? openScreen(board, env) : undefined;
  try {
    while (!stop.aborted) {
      const next = performance.now() + refreshMs;
      await Promise.race([board.look(stop), pause(refreshMs, stop)]);
      if (stop.aborted) break;
      if (draw !== undefined) draw.now();
      else process.stdout.write(json ? `${JSON.stringify(reportJson(board.report()))}\n` : blockOf(board, env));
      await pause(next - performance.now(), stop);
    }
  } finally {
    draw?.leave();
  }
  return exitCodes.done;
}

function openScreen(board: StatusBoard, env: Env): { now(): void; leave(): void } {
  const now = () => {
    const { columns, rows, colours } = terminalOf(process.stdout, env);
    screen.draw(reportLines(board.report(), { columns, rows }).map((line) => paint(line, colours)));
  };
  const screen = new Screen(process.stdout, now);
  screen.enter();
  now();
  return { now, leave: () => screen.leave() };
}

function blockOf(board: StatusBoard, env: Env): string {
  const { colours } = terminalOf(process.stdout, env);
  const lines = reportLines(board.report(), UNLIMITED).map((line) => paint(line, colours));
  return `${lines.join('\n')}\n\n`;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { signal }).catch(() => undefined);
}
