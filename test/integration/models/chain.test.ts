/**
 * Text → exported tokenizer graph → exported embedder graph is what sentence-transformers says of the unmodified model: its
 * tokens, the mean over the mask, length 1. With all-MiniLM-L6-v2 in FP32 as it is published, exported in FP32 and in FP16.
 *
 * onnxruntime of Python runs both graphs. onnxruntime-node can load no operator library, so it runs the embedder, on the ids
 * that the tokenizer graph gave.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportModel } from '../../../scripts/export-onnx/export-model.ts';
import { operatorLibrary } from '../../../scripts/export-tokenizer/op-library.ts';
import { jarFiles } from '../../../scripts/stack/maven.ts';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { tritonPython } from '../../../scripts/stack/triton-install.ts';
import { decodeFp16 } from '../../../src/kserve/fp16.ts';
import { cosine, referenceEmbeddingsOf } from '../../support/reference-embeddings.ts';
import { writeGraph } from '../../support/tokenizer-parity.ts';
import { diverseTexts } from '../worker/diverse-texts.ts';
import { MINILM } from './minilm.ts';

/** The exporter's own comparison up to here only; here the chain itself is compared, up to 512 tokens. */
const COMPARED_TOKENS = 32;

const short = ['', ...diverseTexts().filter((text) => text.length < 90)].slice(0, 64);
const beyondTheWindow = 'The ferries stop when the harbour freezes over. '.repeat(80);
const batches = [short, ...short.slice(0, 12).map((text) => [text]), [beyondTheWindow, 'ice']];
const texts = batches.flat();

type Batch = { readonly ids: number[][]; readonly mask: number[][]; readonly vectors: number[][] };

let folder: string;
let model: string;
let reference: number[][];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-chain-'));
  model = join(folder, 'model');
  await mkdir(model);
  const fetched = await jarFiles(MINILM, () => undefined);
  for (const { name } of MINILM.files) await symlink(join(fetched, name), join(model, name));
  const config = { hidden_size: 384, max_position_embeddings: COMPARED_TOKENS };
  await writeFile(join(model, 'config.json'), JSON.stringify(config));
  const kind = { modelType: 'embedding', maxTokens: 512, truncation: 'longest_first' } as const;
  await writeGraph(join(folder, 'tokenizer.onnx'), { ...kind, tokenizer: join(model, 'tokenizer.json') });
  reference = await referenceEmbeddingsOf(model, texts);
}, 900_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each([
  ['FP32', false, 0.999_99],
  ['FP16', true, 0.999_5],
] as const)('the whole chain in %s', (name, fp16, bound) => {
  let embedder: string;
  let byPython: Batch[];
  beforeAll(async () => {
    embedder = join(folder, `${name}.onnx`);
    const request = { type: 'embedding', model: 'minilm', folder: model, graph: 'model.onnx', threads: 2 } as const;
    const head = { fp16 };
    const report = await exportModel(
      { ...request, outputPath: embedder, head },
      () => {},
      new AbortController().signal,
    );
    expect(report.accepted).toBe(true);
    const spec = join(folder, 'spec.json');
    const graphs = {
      library: await operatorLibrary(() => undefined),
      tokenizer: join(folder, 'tokenizer.onnx'),
      embedder,
    };
    await writeFile(spec, JSON.stringify({ ...graphs, batches }));
    const script = committedPath('test/support/chain-embeddings.py');
    const { stdout } = await promisify(execFile)(await tritonPython(), [script, spec], { maxBuffer: 2 ** 26 });
    byPython = JSON.parse(stdout);
  }, 900_000);

  function expectReference(vectors: readonly ArrayLike<number>[]): void {
    expect(vectors.length).toBe(reference.length);
    const worst = Math.min(...vectors.map((vector, at) => cosine(vector, reference[at]!)));
    expect(worst).toBeGreaterThanOrEqual(bound);
    for (const vector of vectors) expect(Math.hypot(...Array.from(vector))).toBeCloseTo(1, fp16 ? 2 : 4);
  }

  it('has a batch of 64, single texts and one beyond the window', () => {
    expect(batches.map((batch) => batch.length)).toEqual([64, ...Array(12).fill(1), 2]);
    expect(byPython.at(-1)!.mask[0]).toEqual(Array(512).fill(1));
  });

  it('says what sentence-transformers says, in Python', () => {
    expectReference(byPython.flatMap(({ vectors }) => vectors));
  });

  it('says what sentence-transformers says, in Node', async () => {
    const session = await InferenceSession.create(embedder, { logSeverityLevel: 3 });
    const vectors: Float32Array[] = [];
    for (const { ids, mask } of byPython) {
      const shape = [ids.length, ids[0]!.length];
      const tensor = (rows: number[][]) => new Tensor('int64', BigInt64Array.from(rows.flat().map(BigInt)), shape);
      const types = tensor(ids.map((row) => row.map(() => 0)));
      const feeds = { input_ids: tensor(ids), attention_mask: tensor(mask), token_type_ids: types };
      const { EMBEDDING: output } = await session.run(feeds);
      const data = output!.data as Uint16Array | Float32Array;
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      const values = fp16 ? decodeFp16(bytes) : new Float32Array(bytes.slice().buffer);
      vectors.push(...ids.map((_, row) => values.subarray(row * 384, (row + 1) * 384)));
    }
    await session.release();
    expectReference(vectors);
  });
});
