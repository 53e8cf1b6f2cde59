/** `rag-serving produce` as a person runs it, from dist/, against a real broker. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { killAllPrograms, Program } from '../../scripts/stack/program.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { commands } from '../../workers/command-line.ts';
import { useKafka } from '../support/stack.ts';

const kafka = useKafka();
let dir = '';
let admin: KafkaAdmin;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'rag-produce-'));
  mkdirSync(join(dir, 'docs'));
  for (let index = 0; index < 12; index++) {
    writeFileSync(
      join(dir, 'docs', `d${index}.md`),
      `# Doc ${index}\n\n${'One sentence of this document. '.repeat(80)}`,
    );
  }
  const lines = Array.from({ length: 3_000 }, (_, index) =>
    JSON.stringify({ chunk_id: `c${index}`, document_id: `d${index % 50}`, text: `text ${index}` }),
  );
  lines[700] = '{"chunk_id":"broken';
  writeFileSync(join(dir, 'chunks.ndjson'), lines.join('\n'));
  const long = Array.from({ length: 200_000 }, (_, index) =>
    JSON.stringify({ chunk_id: `l${index}`, text: 'x'.repeat(500) }),
  );
  writeFileSync(join(dir, 'long.ndjson'), long.join('\n'));
  const bootstrapServers = kafka().bootstrapServers.split(',');
  const client = createKafkaClient({
    bootstrapServers,
    sasl: undefined,
    tls: undefined,
    clientId: 'test',
    log: silentLog,
  });
  admin = new KafkaAdmin(client);
});
afterEach(killAllPrograms);
afterAll(async () => {
  await admin.close();
  rmSync(dir, { recursive: true });
});

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  new Program(['produce', '--base', dir, ...args], { KAFKA_BOOTSTRAP_SERVERS: kafka().bootstrapServers, ...env });
const written = async (topic: string) =>
  (await admin.lag('nobody', topic)).reduce((sum, { lag }) => sum + Number(lag), 0);

describe('rag-serving produce', () => {
  it('cuts a folder of documents into chunks and creates the topic', async () => {
    const program = run([join(dir, 'docs'), '--topic', 'folder', '--partitions', '3', '--json']);
    expect((await program.exited).code, program.output).toBe(0);
    const summary = program.lines.find((line) => line.topic === 'folder');
    expect(summary).toMatchObject({ documents: 12, bad: 0, dryRun: false, interrupted: false });
    expect(await written('folder')).toBe(summary?.produced);
    expect(Number(summary?.produced)).toBeGreaterThanOrEqual(36);
    expect(await admin.lag('nobody', 'folder')).toHaveLength(3);
  });

  it('a bad line is told by its number, the others arrive, the exit code is 1', async () => {
    const program = run([join(dir, 'chunks.ndjson'), '--topic', 'lines', '--partitions', '6', '--json']);
    expect((await program.exited).code).toBe(1);
    expect(program.output).toContain('bad: chunks.ndjson:701: line of 19 bytes is no JSON');
    expect(program.lines.find((line) => line.topic === 'lines')).toMatchObject({
      produced: 2_999,
      documents: 50,
      bad: 1,
    });
    expect(await written('lines')).toBe(2_999);
  });

  it('keeps a document in one partition', async () => {
    const one = join(dir, 'docs', 'd1.md');
    const program = run([one, '--topic', 'one', '--partitions', '6']);
    expect((await program.exited).code, program.output).toBe(0);
    const filled = (await admin.lag('nobody', 'one')).filter(({ end }) => end > 0n);
    expect(filled).toHaveLength(1);
  });

  it('without --partitions an unknown topic is an error with the remedy, and nothing is created', async () => {
    const program = run([join(dir, 'docs'), '--topic', 'unknown-topic']);
    expect((await program.exited).code).toBe(1);
    expect(program.output).toMatch(/KAFKA_TOPIC_UNKNOWN: topic unknown-topic does not exist; .*--partitions/);
    expect(await admin.topicExists('unknown-topic')).toBe(false);
  });

  it('an interruption stops reading, waits for what is on its way and says what arrived', async () => {
    const program = run([join(dir, 'long.ndjson'), '--topic', 'interrupted', '--partitions', '1', '--json']);
    const deadline = Date.now() + 60_000;
    while (!(await admin.topicExists('interrupted')) || (await written('interrupted').catch(() => 0)) === 0) {
      if (Date.now() > deadline) throw new Error(program.output);
    }
    const { code } = await program.stop('SIGINT', 40_000);
    expect(code, program.output).toBe(3);
    const summary = program.lines.find((line) => line.topic === 'interrupted');
    expect(summary).toMatchObject({ interrupted: true });
    expect(Number(summary?.produced)).toBeLessThan(200_000);
    expect(await written('interrupted')).toBe(summary?.produced);
  });

  it('a broker that is away ends in one clear error within its time limit', async () => {
    const program = run([join(dir, 'docs'), '--topic', 'away'], { KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1' });
    expect((await program.exited).code).toBe(1);
    expect(program.output).toMatch(/rag-serving: KAFKA_UNAVAILABLE: /);
    expect(program.output).not.toMatch(/^\s+at /m);
  });
});

describe('the program itself', () => {
  const main = committedPath('dist/workers/main.js');
  const cli = promisify(execFile);

  it('loads neither Kafka nor ONNX for --help, and no ONNX for produce', async () => {
    const loaded = async (args: string) => {
      const script = `process.argv.push(...${args}); await import(${JSON.stringify(main)});
        const { createRequire } = await import('node:module');
        const names = Object.keys(createRequire(${JSON.stringify(main)}).cache).map((file) => /node_modules\\/([^/]+)/.exec(file)?.[1]);
        process.stdout.write('LOADED ' + [...new Set(names)].join(' ') + '\\n');`;
      const { stdout } = await cli(process.execPath, ['--input-type=module', '-e', script, '-'], { cwd: dir }).catch(
        (error: { stdout: string }) => error,
      );
      return /^LOADED (.*)$/m.exec(stdout)?.[1]?.split(' ') ?? [];
    };
    const help = await loaded('["--help"]');
    expect(help).toContain('commander');
    expect(help).not.toContain('kafkajs');
    const dry = await loaded(JSON.stringify(['produce', join(dir, 'docs'), '--base', dir, '--dry-run']));
    expect(dry).toContain('kafkajs');
    for (const heavy of ['onnxruntime-node', 'fastify', 'ioredis', '@lancedb', 'apache-arrow'])
      expect(dry).not.toContain(heavy);
  });

  it('an unhandled rejection is told without secrets and ends with 1', async () => {
    const script = `process.argv.push('--version'); await import(${JSON.stringify(main)});
      Promise.reject(new Error('login with pw-SENTINEL failed'));`;
    const env = { PATH: process.env.PATH ?? '', KAFKA_SASL_PASSWORD: 'pw-SENTINEL' };
    const failure = await cli(process.execPath, ['--input-type=module', '-e', script, '-'], { env }).then(
      () => undefined,
      (error: { code: number; stderr: string }) => error,
    );
    expect(failure?.code).toBe(1);
    expect(failure?.stderr).toContain('login with [redacted] failed');
    expect(failure?.stderr).not.toContain('SENTINEL');
  });

  for (const { name } of commands) {
    it(`${name} --help answers`, async () => {
      const { stdout } = await cli(process.execPath, [main, name, '--help']);
      expect(stdout).toContain(`Usage: rag-serving ${name}`);
      expect(stdout).toContain('Exit codes:');
    });
  }

  it('prints the version of the package', async () => {
    const { stdout } = await cli(process.execPath, [main, '--version']);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
