/**
 * Generated repositories in a real Triton, in their CPU form: the three pipelines of the local stack, and one that the program built.
 * What the configuration says is what the server does.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkRepositories } from '../../../scripts/build-model-repos/check/check-repository.ts';
import { parseConfig } from '../../../scripts/model-config/parse.ts';
import { pools } from '../../../scripts/pools.ts';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { type RunningTriton, startTriton } from '../../../scripts/stack/triton.ts';
import { tritonProgram } from '../../../scripts/stack/triton-install.ts';
import { localModel, pipelineModels } from '../../../scripts/stack/triton-models.ts';
import { decodeFp16 } from '../../../src/kserve/fp16.ts';
import { type ModelConfig, ModelConfigSchema } from '../../../src/kserve/gen/model_config_pb.ts';
import { useTriton } from '../../support/stack.ts';

const run = promisify(execFile);
const triton = useTriton({ models: pipelineModels, args: ['--log-verbose=1'] });

type Answer = { readonly status: number; readonly error: string; readonly shape: number[]; readonly data: Buffer };

/** Binary output: FP16 does not travel as JSON. */
async function infer(
  model: string,
  columns: Readonly<Record<string, readonly string[]>>,
  output: string,
  { parameters = {}, server = triton() }: { parameters?: object; server?: RunningTriton } = {},
): Promise<Answer> {
  const inputs = Object.entries(columns).map(([name, data]) => ({
    ...{ name, datatype: 'BYTES', shape: [data.length, 1], data },
  }));
  const outputs = [{ name: output, parameters: { binary_data: true } }];
  const response = await fetch(`${server.httpUrl}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs, outputs, parameters }),
    signal: AbortSignal.timeout(100_000),
  });
  const body = Buffer.from(await response.arrayBuffer());
  const head = Number(response.headers.get('inference-header-content-length') ?? body.length);
  const told = JSON.parse(body.subarray(0, head).toString());
  const { error = '', outputs: answers = [] } = told as { error?: string; outputs?: { shape: number[] }[] };
  return { status: response.status, error, shape: answers[0]?.shape ?? [], data: body.subarray(head) };
}

async function embed(texts: readonly string[], model = 'online_embedder_ensemble', server = triton()) {
  const { error, shape, data } = await infer(model, { TEXT: texts }, 'EMBEDDING', { server });
  expect([error, ...shape]).toEqual(['', texts.length, 384]);
  return texts.map((_, row) => decodeFp16(data.subarray(row * 768, (row + 1) * 768)));
}

const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  const dot = (x: ArrayLike<number>, y: ArrayLike<number>) =>
    Array.from(x).reduce((sum, value, index) => sum + value * y[index]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
};

const words = (count: number, seed: number) =>
  Array.from({ length: count }, (_, index) => ['tide', 'harbour', 'ferry', 'ice'][(index * 7 + seed) % 4]).join(' ');

describe('the pipelines of the local stack', () => {
  it('have no problem, and are the committed ones in names and tensors', async () => {
    const { modelRepository } = triton();
    const { problems } = await checkRepositories(modelRepository);
    const faults = /^(slow|slow_timeout|nan_rows|rejecting|stalling_reranker)\//;
    expect(problems.filter((problem) => !faults.test(problem))).toEqual([]);
    const contract = async (folder: string) => {
      const { config } = parseConfig(await readFile(join(folder, 'config.pbtxt'), 'utf8'));
      const { name, input, output, schedulingChoice } = config;
      return { name, input, output, steps: schedulingChoice.case === 'ensembleScheduling' && schedulingChoice.value };
    };
    for (const { repository, ensemble, tokenizer, encoder } of Object.values(pools)) {
      for (const name of [ensemble, tokenizer, encoder]) {
        const committed = await contract(committedPath(join('model-repos', repository, name)));
        expect(await contract(join(modelRepository, name))).toEqual(committed);
      }
    }
  });

  it.each(pipelineModels)('%s is configured as its file says', async (name) => {
    const response = await fetch(`${triton().httpUrl}/v2/models/${name}/config`);
    const served = fromJson(ModelConfigSchema, (await response.json()) as JsonValue, { ignoreUnknownFields: true });
    const file = parseConfig(await readFile(join(triton().modelRepository, name, 'config.pbtxt'), 'utf8')).config;
    const matters = (config: ModelConfig) => ({
      ...{ name: config.name, maxBatchSize: config.maxBatchSize, versionPolicy: config.versionPolicy },
      ...{ input: config.input, output: config.output, scheduling: config.schedulingChoice },
      instances: config.instanceGroup.map(({ kind, count }) => ({ kind, count })),
      ...{ warmup: config.modelWarmup, parameters: config.parameters, cached: config.responseCache?.enable },
    });
    // Triton puts the largest batch where no size is preferred.
    if (
      file.schedulingChoice.case === 'dynamicBatching' &&
      file.schedulingChoice.value.preferredBatchSize.length === 0
    ) {
      file.schedulingChoice.value.preferredBatchSize = [file.maxBatchSize];
    }
    expect(matters(served)).toEqual(matters(file));
  });

  it('encoders were warmed up with the shape that the file names, before they counted as ready', async () => {
    const log = await readFile(triton().logFile, 'utf8');
    for (const { encoder, usual } of Object.values(pools)) {
      expect(log).toMatch(new RegExp(`${encoder}.*(warmup|warm-up|warm up).*1 x ${usual.tokens}`, 'i'));
    }
  });

  it('texts of different lengths in one batch have the vectors that each has alone (X03)', async () => {
    const lengths = Array.from({ length: 29 }, (_, index) => 1 + ((index * 53) % 211));
    const texts = [words(1, 0), words(400, 1), '', ...lengths.map((length, index) => words(length, index))];
    const together = await embed(texts);
    for (const [row, text] of texts.entries()) {
      const [alone] = await embed([text]);
      expect(cosine(alone!, together[row]!)).toBeGreaterThan(0.999);
    }
    const apart = await Promise.all(texts.slice(0, 8).map((text) => embed([text])));
    for (const [row, [vector]] of apart.entries()) expect(cosine(vector!, together[row]!)).toBeGreaterThan(0.999);
  });

  it('requests that leave the tokenizer together have one length', async () => {
    const tokens = async (text: string) => (await infer('text_tokenizer', { TEXT: [text] }, 'INPUT_IDS')).shape[1];
    let widths: (number | undefined)[] = [];
    for (let attempt = 0; attempt < 100 && widths[0] !== 402; attempt++) {
      widths = await Promise.all([tokens('tide'), tokens(words(400, 0)), tokens('ice'), tokens('ferry')]);
    }
    expect(widths[0]).toBe(402);
  });

  it('a queue takes what its file allows and refuses the rest at once', async () => {
    const pair = { QUERY: ['Which ferry?'], PASSAGE: [words(200, 0)] };
    const calls = Array.from({ length: 160 }, () => infer('online_reranker_ensemble', pair, 'SCORE'));
    const answers = await Promise.all(calls);
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { error } of refused) expect(error).toContain('Exceeds maximum queue size');
    const served = answers.filter(({ status }) => status === 200).length;
    expect(served).toBeGreaterThanOrEqual(pools.online_rerank.maxQueuedRequests);
    expect(served + refused.length).toBe(160);
  });

  it('a request that waits for longer than its own timeout is refused', async () => {
    const busy = embed(Array.from({ length: 32 }, (_, index) => words(300, index)));
    const late: Answer[] = [];
    for (let attempt = 0; attempt < 5; attempt++) {
      const options = { parameters: { timeout: 20_000 } };
      late.push(await infer('online_embedder_ensemble', { TEXT: ['tide'] }, 'EMBEDDING', options));
    }
    await busy;
    const refused = late.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { error } of refused) expect(error).toContain('Request timeout expired');
  });
});

describe('a repository that the program built', () => {
  const main = committedPath('dist/scripts/build-model-repos/main.js');
  let folder: string;
  let model: { encoder: string; tokenizer: string };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-repos-'));
    model = await localModel((await tritonProgram(() => undefined)).packages, () => undefined);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const build = (...flags: string[]) =>
    run('node', [main, '--runtime', 'python', '--encoder', model.encoder, '--output-dir', folder, ...flags]);

  it('serves the same vectors, also after it was moved to where nothing of the source is', async () => {
    await build('--pool', 'online_embed', '--tokenizer-dir', dirname(model.tokenizer));
    const own = await startTriton({ modelRepository: join(folder, 'online_embedding') });
    try {
      const texts = ['tide', words(40, 0)];
      const [mine, stack] = [await embed(texts, 'online_embedder_ensemble', own), await embed(texts)];
      expect(mine).toEqual(stack);
    } finally {
      await own.stop();
    }
    expect((await run('node', [main, '--check', folder])).stderr).toContain('3 models, 0 problems');
  });

  it('an edit that breaks it is told with its line, by exit code 3', async () => {
    const path = join(folder, 'online_embedding/text_tokenizer/config.pbtxt');
    await writeFile(path, (await readFile(path, 'utf8')).replace('TYPE_INT64', 'TYPE_INT46'));
    await expect(run('node', [main, '--check', folder])).rejects.toMatchObject({
      code: 3,
      stdout: expect.stringMatching(
        /^online_embedding\/text_tokenizer\/config\.pbtxt:\d+: data_type: TYPE_INT46 where one of/,
      ),
    });
  });

  it('a tokenizer of another model is refused, and nothing is written', async () => {
    const other = join(folder, 'tokenizer.json');
    await writeFile(other, `${await readFile(model.tokenizer, 'utf8')}\n`);
    const refused = build('--pool', 'batch_ingestion', '--tokenizer-dir', other);
    await expect(refused).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/ARGUMENT_INVALID: the encoder was exported with the tokenizer be50c3628f2b/),
    });
    await expect(run('node', [main, '--check', join(folder, 'batch_ingestion')])).rejects.toMatchObject({ code: 2 });
  });
});
