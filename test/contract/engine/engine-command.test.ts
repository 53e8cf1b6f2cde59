/** `rag-serving engine` as a process: ready line, signals, exit codes. Needs `npm run build`. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { embed, inlineOutput } from './engine-fixture.ts';

const main = fileURLToPath(new URL('../../../dist/workers/main.js', import.meta.url));
const freePorts = ['--grpc-port', '0', '--http-port', '0', '--metrics-port', '0'];
const children: ChildProcessWithoutNullStreams[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function start(...args: string[]): { child: ChildProcessWithoutNullStreams; stderr: () => string } {
  const child = spawn(process.execPath, [main, 'engine', ...args]);
  children.push(child);
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  return { child, stderr: () => stderr };
}

type Ready = { event: string; grpcPort: number; httpPort: number; metricsPort: number; synthetic: boolean };

async function ready(child: ChildProcessWithoutNullStreams): Promise<Ready> {
  const [line] = await once(createInterface({ input: child.stdout }), 'line', { signal: AbortSignal.timeout(20_000) });
  return JSON.parse(line as string) as Ready;
}

async function exitCode(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
  return code as number | null;
}

describe('rag-serving engine', () => {
  it('says where it listens in one JSON line, serves, and stops in order on SIGTERM', async () => {
    const { child } = start('--synthetic', '--batch-ms', '300', ...freePorts);
    const said = await ready(child);
    expect(said).toMatchObject({ event: 'engine ready', synthetic: true });
    expect((await fetch(`http://127.0.0.1:${said.httpPort}/v2/health/ready`)).status).toBe(200);
    expect(await (await fetch(`http://127.0.0.1:${said.metricsPort}/metrics`)).text()).toContain('nv_inference_count');
    const client = createGrpcInferenceClient({
      target: `127.0.0.1:${said.grpcPort}`,
      targetSetting: 'TEST',
      receiveLimitBytes: 2 ** 20,
    });
    const inFlight = inlineOutput(client, embed(['in flight']));
    await new Promise((resolve) => setTimeout(resolve, 150));
    const signalledAt = performance.now();
    child.kill('SIGTERM');
    expect((await inFlight).byteLength).toBe(768);
    client.close();
    expect(await exitCode(child)).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(5_500);
  });

  it('hurries on a second signal', async () => {
    const { child } = start('--synthetic', '--batch-ms', '20000', ...freePorts);
    const { grpcPort } = await ready(child);
    const target = `127.0.0.1:${grpcPort}`;
    const client = createGrpcInferenceClient({ target, targetSetting: 'TEST', receiveLimitBytes: 2 ** 20 });
    const inFlight = inlineOutput(client, embed(['x'])).catch((error: Error) => error);
    await new Promise((resolve) => setTimeout(resolve, 150));
    const signalledAt = performance.now();
    child.kill('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 200));
    child.kill('SIGINT');
    expect(await exitCode(child)).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(3_000);
    expect(await inFlight).toBeInstanceOf(Error);
    client.close();
  });

  const wrong: [string, string[], string][] = [
    ['an unknown option', ['--nope'], "unknown option '--nope'"],
    ['a port that is none', ['--grpc-port', '70000'], 'Expected a whole number from 0 to 65535'],
    ['a share above 1', ['--synthetic', '--error-rate', '1.5'], 'Expected a number from 0 to 1'],
    ['an unknown fault', ['--synthetic', '--fault', 'BAD=boom'], 'Expected MARKER=KIND'],
    ['a synthetic option without --synthetic', ['--dims', '8'], '--dims works only together with --synthetic'],
  ];
  for (const [name, args, says] of wrong) {
    it(`exits 2 for ${name}`, async () => {
      const { child, stderr } = start(...args);
      expect(await exitCode(child)).toBe(2);
      expect(stderr()).toContain(says);
    });
  }

  it('exits 2 for a port that is taken', async () => {
    const first = start('--synthetic', ...freePorts);
    const { grpcPort } = await ready(first.child);
    const second = start('--synthetic', '--grpc-port', `${grpcPort}`, '--http-port', '0', '--metrics-port', '0');
    expect(await exitCode(second.child)).toBe(2);
    expect(second.stderr()).toContain(`--grpc-port ${grpcPort} cannot be opened`);
  });

  it('exits 1 for a model folder without a model, or with one that onnxruntime cannot load', async () => {
    const missing = start('--model-dir', '/nonexistent');
    expect(await exitCode(missing.child)).toBe(1);
    expect(missing.stderr()).toContain('has no model.onnx');

    const folder = mkdtempSync(join(tmpdir(), 'rag-engine-model-'));
    writeFileSync(join(folder, 'model.onnx'), 'garbage');
    writeFileSync(join(folder, 'tokenizer.json'), '{"model":{"type":"Unigram"}}');
    const broken = start('--model-dir', folder);
    expect(await exitCode(broken.child)).toBe(1);
    expect(broken.stderr()).toContain('tokenizer.json is not supported at');
    rmSync(folder, { recursive: true });
  });
});
