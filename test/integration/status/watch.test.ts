/** `rag-serving status --watch`: the screen that a person sees in a real terminal, and what a pipe gets. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import type { Program } from '../../../scripts/stack/program.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import { TerminalProgram } from '../../support/terminal.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker } from '../worker/harness.ts';
import { StatusWorld, urlOf } from './status-world.ts';

const kafka = useKafka();
const redis = useRedis();
const terminals: TerminalProgram[] = [];
let world: StatusWorld;

beforeEach(() => {
  world = new StatusWorld(kafka().bootstrapServers);
});
afterEach(async () => {
  for (const one of terminals.splice(0)) one.kill();
  await endPrograms();
  await world.close();
});

const LEFT = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const memory = { RAG_SERVING_SINK: 'memory' };

function open(args: readonly string[], env: Env, rows = 24, columns = 80): TerminalProgram {
  const program = new TerminalProgram(['status', '--watch', '--refresh', '0.5', ...args], {
    rows,
    columns,
    env: { ...world.env, ...memory, ...env },
  });
  terminals.push(program);
  return program;
}

function until(terminal: TerminalProgram, says: RegExp): Promise<void> {
  return eventually(`the screen says ${says}`, async () => says.test((await terminal.screen()).join('\n')), 60_000);
}

const send = (count: number) =>
  world.topic.send(
    Array.from({ length: count }, (_, n) => chunkMessage({ chunkId: `c${n}`, documentId: `d${n}`, text: `text ${n}` })),
  );

describe('rag-serving status --watch', () => {
  it('draws a real worker at work, follows a resize, and gives the terminal back after Ctrl-C', async () => {
    await world.topic.create(30);
    const engine = await startEngine(['--synthetic']);
    const settings = world.settings(engine.target, redis().url);
    const worker = await startWorker({ ...world.env, ...settings, RAG_SERVING_WORKER_ID: 'ingest-0' });
    const terminal = open(['--worker', urlOf(worker)], settings);
    await until(terminal, /group +Stable, 1 member/);
    await send(60);
    await until(terminal, /lag +0 .* caught up/);
    await until(terminal, /^ingest-0 +running +yes/m);
    expect(terminal.alternate).toBe(true);
    const small = await terminal.screen();
    expect(small.join('\n')).toMatch(/^… \d+ more partitions, lag 0$/m);
    expect(small.at(-1)).toMatch(/^ingest-0/);
    terminal.resize(60, 120);
    await until(terminal, /^ +29 .* ingest-0$/m);
    terminal.resize(10, 40);
    await eventually('it fits again', async () => {
      const lines = await terminal.screen();
      return lines.some((line) => /^… 30 more/.test(line)) && lines[1]?.startsWith('lag') === true;
    });
    terminal.type('\\x03');
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw).toContain('\u001b[32m');
    expect(terminal.raw.lastIndexOf(LEFT)).toBeGreaterThan(terminal.raw.lastIndexOf('group'));
    await terminal.screen();
    expect(terminal.alternate).toBe(false);
  });

  it('a broker that goes away and comes back is shown so; a suspended screen comes back; NO_COLOR', async () => {
    await world.topic.create(1);
    const terminal = open(['--no-engine'], { NO_COLOR: '1' });
    await until(terminal, /group +never seen/);
    terminal.type('\\x1a');
    await eventually('it is suspended', async () => {
      await terminal.screen();
      return !terminal.alternate;
    });
    terminal.signal('SIGCONT');
    await until(terminal, /group +never seen/);
    expect(terminal.alternate).toBe(true);
    await kafka().kill('SIGKILL');
    await until(terminal, /lag +KAFKA_UNAVAILABLE/);
    await kafka().restart();
    await until(terminal, /group +never seen/);
    await until(terminal, /lag +0/);
    terminal.signal('SIGTERM');
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw.split('\u001b[').filter((part) => /^[0-9;]*m/.test(part))).toEqual([]);
    expect(terminal.raw.endsWith(LEFT)).toBe(true);
  });

  it('a group that is rebalancing says so', async () => {
    await world.topic.create(2);
    const consumers = [1, 2].map(() =>
      world.topic.client.kafka.consumer({
        groupId: world.topic.group,
        sessionTimeout: 30_000,
        rebalanceTimeout: 30_000,
      }),
    );
    const [first, second] = consumers;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await first?.connect();
    await first?.subscribe({ topic: world.topic.topic, fromBeginning: true });
    // It hears of the second member only when its handler returns.
    await first?.run({ eachMessage: () => held });
    await send(1);
    await eventually(
      'the first is in',
      async () => {
        return (await world.json(['--interval', '0', '--no-engine'], memory)).status.members.group === 'Stable';
      },
      60_000,
    );
    await second?.connect();
    await second?.subscribe({ topic: world.topic.topic });
    // Resolves only when it has been let in.
    const joined = second?.run({ eachMessage: async () => undefined });
    try {
      const watching = world.start(['status', '--watch', '--refresh', '0.5', '--no-engine'], memory);
      await says(watching, /^group +PreparingRebalance: rebalancing, \d members?$/m);
      release();
      await joined;
      await says(watching, /^group +Stable, 2 members$/m);
      expect((await watching.stop('SIGINT')).code).toBe(0);
      expect(watching.output).not.toContain('\u001b');
    } finally {
      release();
      await Promise.all(consumers.map((one) => one.disconnect()));
    }
  });

  it('--json is one object a look, and ends when nobody reads any more', async () => {
    await world.topic.create(1);
    const program = `${process.execPath} ${committedPath('dist/workers/main.js')} status --watch --json`;
    const pipeline = `set -o pipefail; ${program} --refresh 0.5 --no-engine | head -n 3`;
    const { stdout } = await promisify(execFile)('bash', ['-c', pipeline], {
      env: { PATH: process.env.PATH, ...world.env, ...memory },
      timeout: 90_000,
    });
    const looks = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(looks.map(({ event }) => event)).toEqual(['status', 'status', 'status']);
    expect(looks[2]).toMatchObject({ rate: { committedPerSecond: 0 }, eta: { state: 'caught-up' } });
  });
});

function says(program: Program, what: RegExp): Promise<void> {
  return eventually(`it says ${what}`, () => what.test(program.output), 60_000);
}
