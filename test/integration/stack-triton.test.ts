/** The local Triton and its test models: the names and tensors of the pipeline, and the faults that tests ask for. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { startTriton, tritonPython } from '../../scripts/stack/triton.ts';
import { useTriton } from '../support/stack.ts';
import { isRunning, processesWith, shmFilesWith, tracesOf } from '../support/stack-traces.ts';

const triton = useTriton();

type Answer = { readonly status: number; readonly error: string; readonly vectors: readonly Float32Array[] };

/** One HTTP inference with binary output: FP16 does not travel as JSON. */
async function embed(model: string, texts: readonly string[]): Promise<Answer> {
  const inputs = [{ name: 'TEXT', datatype: 'BYTES', shape: [texts.length, 1], data: texts }];
  const outputs = [{ name: 'EMBEDDING', parameters: { binary_data: true } }];
  const response = await fetch(`${triton().httpUrl}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs, outputs }),
  });
  const body = Buffer.from(await response.arrayBuffer());
  if (!response.ok) return { status: response.status, error: body.toString(), vectors: [] };
  const raw = body.subarray(Number(response.headers.get('inference-header-content-length')));
  expect(raw.length).toBe(texts.length * 384 * 2);
  const vectors = texts.map((_, row) =>
    Float32Array.from({ length: 384 }, (_, i) => half(raw.readUInt16LE((row * 384 + i) * 2))),
  );
  return { status: response.status, error: '', vectors };
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, value, i) => sum + value * b[i]!, 0);

async function getJson(path: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${triton().httpUrl}${path}`)).json()) as Record<string, unknown>;
}

const LONG = 'Partitions of a topic are read in order, and each is owned by one member of the group. '.repeat(60);
const TEXTS = [
  'A broker keeps a log.',
  LONG,
  'Brokers store records in a log.',
  '日本語の文',
  'x',
  '🙂 and some words',
];

describe.each([
  ['batch_embedder_ensemble', 256],
  ['online_embedder_ensemble', 32],
])('%s', (model, maxBatch) => {
  test('has the tensors of an embedder, its batch limit and a fingerprint', async () => {
    expect(await getJson(`/v2/models/${model}`)).toMatchObject({
      platform: 'ensemble',
      inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [-1, 1] }],
      outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [-1, 384] }],
    });
    const config = await getJson(`/v2/models/${model}/config`);
    expect(config.max_batch_size).toBe(maxBatch);
    expect(config.parameters).toMatchObject({
      fingerprint: { string_value: expect.stringMatching(/^all-MiniLM-L6-v2/) },
    });
  });

  test('gives unit vectors that do not depend on the batch a text is in', async () => {
    const { vectors } = await embed(model, TEXTS);
    for (const vector of vectors) expect(dot(vector, vector)).toBeCloseTo(1, 2);
    expect(dot(vectors[0]!, vectors[2]!)).toBeGreaterThan(dot(vectors[0]!, vectors[3]!) + 0.2);
    for (const [row, text] of TEXTS.entries()) {
      expect((await embed(model, [text])).vectors[0]).toEqual(vectors[row]);
    }
    const reversed = await embed(model, TEXTS.toReversed());
    expect(reversed.vectors.toReversed()).toEqual(vectors);
  });

  test('requests of different lengths share an execution and keep their own rows', async () => {
    const alone = await Promise.all(TEXTS.map((text) => embed(model, [text, 'second row'])));
    for (const [row, { vectors }] of alone.entries()) {
      expect(vectors[0]).toEqual((await embed(model, [TEXTS[row]!])).vectors[0]);
      expect(vectors[1]).toEqual(alone[0]!.vectors[1]);
    }
  });
});

test('online_reranker_ensemble scores the passage that answers the query higher', async () => {
  const column = (name: string, data: string[]) => ({ name, datatype: 'BYTES', shape: [data.length, 1], data });
  const passages = ['Bananas are yellow.', 'A consumer group shares the partitions of a topic.', LONG];
  const inputs = [
    column(
      'QUERY',
      passages.map(() => 'What is a consumer group?'),
    ),
    column('PASSAGE', passages),
  ];
  const response = await fetch(`${triton().httpUrl}/v2/models/online_reranker_ensemble/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs }),
  });
  const { outputs } = (await response.json()) as {
    outputs: { name: string; datatype: string; shape: number[]; data: number[] }[];
  };
  expect(outputs[0]).toMatchObject({ name: 'SCORE', datatype: 'FP32', shape: [3, 1] });
  const [bananas, group, long] = outputs[0]!.data as [number, number, number];
  expect(group).toBeGreaterThan(long);
  expect(long).toBeGreaterThan(bananas);
});

describe('faults', () => {
  test('nan_rows spoils the rows that ask for it and no other; the others are the hash of their text', async () => {
    const { vectors } = await embed('nan_rows', ['good', 'a nan-row', 'an inf-row', 'a zero-row', 'good']);
    const [good, nan, inf, zero, again] = vectors as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    expect(nan.every(Number.isNaN)).toBe(true);
    expect(inf.every((value) => value === Number.POSITIVE_INFINITY)).toBe(true);
    expect(zero.every((value) => value === 0)).toBe(true);
    expect(again).toEqual(good);
    const digest = createHash('sha256').update('good').digest();
    const values = Array.from({ length: 384 }, (_, i) => digest[i % 32]! - 127.5);
    const norm = Math.sqrt(dot(values, values));
    expect(dot(good, values) / norm).toBeCloseTo(1, 3);
  });

  test('slow refuses what its queue of 4 has no room for', async () => {
    const full = Array.from({ length: 8 }, () => 'text');
    const answers = await Promise.all(Array.from({ length: 9 }, () => embed('slow', full)));
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { error } of refused) expect(error).toContain('Exceeds maximum queue size');
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(4);
  });

  test('slow_timeout refuses what has waited for longer than its limit', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => embed('slow_timeout', ['text'])));
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { error } of refused) expect(error).toContain('Request timeout expired');
  });

  test('rejecting fails one request; with its stub gone every request, though the server says it is ready', async () => {
    expect((await embed('rejecting', ['reject-request'])).error).toContain('holds a text that is refused');
    expect((await embed('rejecting', ['good'])).status).toBe(200);
    expect((await embed('rejecting', ['crash-stub'])).status).toBe(500);
    expect((await embed('rejecting', ['good'])).error).toContain('is not healthy');
    expect((await fetch(`${triton().httpUrl}/v2/health/ready`)).status).toBe(200);
    await triton().kill(); // an orderly end waits long for the stub that is gone
    await triton().restart();
    expect((await embed('rejecting', ['good'])).status).toBe(200);
  });
});

test('counts what it serves', async () => {
  const metrics = await (await fetch(triton().metricsUrl)).text();
  expect(metrics).toMatch(/nv_inference_request_success\{model="\w+",version="1"\} \d+/);
});

test('SIGKILL and restart on the same ports leave one set of files in /dev/shm, and stop none', async () => {
  const environments = () => readdirSync('/tmp').filter((name) => name.startsWith('python_env_'));
  const before = environments();
  const own = await startTriton({ models: ['nan_rows', 'slow'] });
  const { dataDir, shmPrefix, grpcUrl, httpUrl } = own;
  try {
    const files = shmFilesWith(shmPrefix).length;
    expect(files).toBeGreaterThan(0);
    const stubs = processesWith('triton_python_backend_stub', shmPrefix);
    expect(stubs.length).toBeGreaterThanOrEqual(2);
    await own.kill();
    expect(stubs.filter(isRunning)).toEqual([]);
    await own.restart();
    expect(shmFilesWith(shmPrefix).length).toBe(files);
    expect([own.grpcUrl, own.httpUrl]).toEqual([grpcUrl, httpUrl]);
  } finally {
    await own.stop();
  }
  expect(tracesOf({ pid: own.pid, dataDir, shmPrefix })).toEqual([]);
  expect(environments().filter((name) => !before.includes(name))).toEqual([]);
});

test('tritonPython has the packages of the reference model', async () => {
  const script =
    'import numpy, onnxruntime, tokenizers; print(numpy.__version__, onnxruntime.__version__, tokenizers.__version__)';
  const said = execFileSync(await tritonPython(), ['-c', script], { encoding: 'utf8' });
  expect(said.trim()).toBe('1.26.4 1.32.0 0.23.3');
});
