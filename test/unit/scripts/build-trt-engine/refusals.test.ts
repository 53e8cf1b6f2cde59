/** Which models no engine is built from, and what is said of them: every fault at once, each with the value at fault. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as attribute from '../../../../scripts/onnx/attributes.ts';
import { type ModelProto, StringStringEntryProtoSchema } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { GraphBuilder, valueInfo } from '../../../../scripts/onnx/graph-builder.ts';
import { readModelFile, writeModelFile } from '../../../../scripts/onnx/model-file.ts';
import { DataType, int64Tensor } from '../../../../scripts/onnx/tensors.ts';
import { type TinyOptions, tinyEncoder } from '../export-onnx/tiny-encoder.ts';
import { cleanEnv, openWorkshop, runScript, runShell, type Workshop } from './workshop.ts';

let workshop: Workshop;
let embedder: string;
let reranker: string;
beforeAll(async () => {
  workshop = await openWorkshop();
  embedder = await workshop.model('embedder', { tokenTypes: true, positions: 512 });
  reranker = await workshop.model('reranker', { labels: 1, positions: 512 });
});
afterAll(() => workshop.close());

const dryRun = (onnx: string, ...more: readonly string[]) => [
  ...[
    '--profile',
    'online_embed',
    '--onnx-path',
    onnx,
    '--output-engine-path',
    join(workshop.folder, 'out/model.plan'),
  ],
  ...['--dry-run', '--trial-tokens', '2048', ...more],
];
const refused = (onnx: string, ...more: readonly string[]) =>
  runScript(dryRun(onnx, ...more), cleanEnv()).then(
    () => 'taken',
    (error: Error) => error.message,
  );

/** The embedder, changed. */
async function changed(change: (model: ModelProto) => void, from = embedder): Promise<string> {
  const model = await readModelFile(from);
  change(model);
  const path = join(workshop.folder, 'changed.onnx');
  await writeModelFile(path, model);
  return path;
}

/** As it comes from an exporter that adds no pooling, with metadata that says otherwise. */
async function foreign(options: TinyOptions, change: (model: ModelProto) => void = () => {}): Promise<string> {
  const model = tinyEncoder(options);
  for (const [key, value] of Object.entries({ model: 'owner/tiny', compute: 'fp16' })) {
    model.metadataProps.push(create(StringStringEntryProtoSchema, { key: `rag_serving.${key}`, value }));
  }
  change(model);
  const path = join(workshop.folder, 'foreign.onnx');
  await writeModelFile(path, model);
  return path;
}

describe('a model that is not for the profile', () => {
  it('an embedder for the reranker, and the other way round', async () => {
    expect(await refused(embedder, '--profile', 'online_rerank', '--max-tokens', '64')).toContain(
      'profile online_rerank serves the one output SCORE (export-onnx --model-type reranker), and it has EMBEDDING',
    );
    expect(await refused(reranker)).toContain(
      'serves the one output EMBEDDING (export-onnx --model-type embedding), and it has SCORE',
    );
  });

  it('fewer positions than tokens, with both numbers; fewer tokens are taken', async () => {
    const said = await refused(reranker, '--profile', 'online_rerank');
    expect(said).toContain('it has 512 positions, and profile online_rerank is for 2048 tokens');
    expect(said).toContain('--max-tokens 512');
    expect(await refused(reranker, '--profile', 'online_rerank', '--max-tokens', '512', '--max-batch', '2')).toBe(
      'taken',
    );
  });

  it('FP32 where FP16 is asked for, and the other way round', async () => {
    const float32 = await workshop.model('float32', { fp16: false });
    const said = await refused(float32);
    expect(said).toContain('rag_serving.compute "as the source", not "fp16"');
    expect(said).toContain('none of its products computes in FP16: export it with export-onnx --fp16');
    expect(await refused(float32, '--precision', 'fp32')).toBe('taken');
    expect(await refused(embedder, '--precision', 'fp32')).toContain(
      'products compute in FP16: --precision fp32 takes a graph that is FP32',
    );
  });
});

describe('a graph that is not as the export writes it', () => {
  it('all that is wrong is told at once', async () => {
    const said = await refused(
      await foreign({ inputType: DataType.INT32, names: { input_ids: 'ids', attention_mask: 'attention_mask' } }),
    );
    for (const part of [
      'it has no input input_ids',
      'input ids is none of input_ids, attention_mask, token_type_ids',
      'input attention_mask is INT32, not INT64',
      'and it has last_hidden_state',
      'none of its products computes in FP16',
    ]) {
      expect(said).toContain(part);
    }
  });

  it('an axis that is fixed', async () => {
    const path = await changed(({ graph }) => {
      graph!.input[0] = valueInfo('input_ids', DataType.INT64, [1, 'sequence']);
    });
    expect(await refused(path)).toContain(
      'input input_ids has the shape [1, sequence], not [batch, sequence] with both dynamic',
    );
  });

  it('an output of another type or shape', async () => {
    const asFloat64 = await changed(({ graph }) => {
      const builder = new GraphBuilder(graph!);
      Object.assign(graph!.node.at(-1)!, { name: 'last', output: ['vector'] });
      builder.node('Cast', ['vector'], ['EMBEDDING'], { attributes: { to: attribute.int(DataType.DOUBLE) } });
      graph!.output = [valueInfo('EMBEDDING', DataType.DOUBLE, ['batch', 'dims'])];
    });
    const said = await refused(asFloat64);
    expect(said).toContain('output EMBEDDING is DOUBLE');
    expect(said).toContain('output EMBEDDING has the shape [batch, dims], not [batch, dims as a number]');
  });

  it('a model that nobody could tell from another', async () => {
    const path = await changed((model) => {
      model.metadataProps = [];
    });
    expect(await refused(path)).toContain('it has no metadata rag_serving.model');
  });

  it('FP16 where sums drift: each node by its name', async () => {
    const path = await changed(({ graph }) => {
      for (const node of graph!.node) {
        if (node.opType !== 'Softmax') continue;
        const [input, output] = [node.input[0]!, node.output[0]!];
        node.input = [`${input}/half`];
        node.output = [`${output}/half`];
        const at = graph!.node.indexOf(node);
        const casts = new GraphBuilder('casts');
        casts.node('Cast', [input], [`${input}/half`], { attributes: { to: attribute.int(DataType.FLOAT16) } });
        casts.node('Cast', [`${output}/half`], [output], { attributes: { to: attribute.int(DataType.FLOAT) } });
        const [into, outOf] = casts.graph.node;
        graph!.node.splice(at, 1, into!, node, outOf!);
        break;
      }
    });
    expect(await refused(path)).toContain(
      'Softmax Softmax_attention would compute in FP16, where sums overflow and drift',
    );
  });

  it('operators that TensorRT does not know', async () => {
    const quantised = await changed(({ graph }) => {
      const builder = new GraphBuilder(graph!);
      builder.node('DynamicQuantizeLinear', ['pooling/unit'], ['q', 'q/scale', 'q/zero']);
    });
    expect(await refused(quantised)).toContain('DynamicQuantizeLinear is not known to TensorRT');
    const fused = await changed((model) => {
      const builder = new GraphBuilder(model.graph!);
      builder.node('QuickGelu', ['pooling/unit'], ['g'], { domain: 'com.microsoft' });
      model.opsetImport.push({ ...model.opsetImport[0]!, domain: 'com.microsoft', version: 1n });
    });
    expect(await refused(fused)).toContain('com.microsoft.QuickGelu is no operator of ONNX itself');
  });

  it('a file that is no model, or is not whole', async () => {
    const path = join(workshop.folder, 'half.onnx');
    await writeFile(path, (await readFile(embedder)).subarray(0, 900));
    expect(await refused(path)).toContain('is no ONNX model');
    const large = await workshop.model('large', { largestFileBytes: 1 });
    await rename(`${large}.data`, join(workshop.folder, 'elsewhere'));
    expect(await refused(large)).toContain('keeps weights in large.onnx.data, which is missing');
  });
});

describe('the trial at the corners', () => {
  it('refuses a graph that fails at its longest input although nothing shows it', async () => {
    // The positions are looked up in a way that does not say that they are positions.
    const path = await changed(({ graph }) => {
      const at = graph!.node.findIndex(({ output }) => output[0] === 'positions/rows');
      const builder = new GraphBuilder(graph!);
      const last = builder.constant(int64Tensor('last/axis', [-1], [1]));
      const column = new GraphBuilder('column');
      column.node('Unsqueeze', ['positions/index', last], ['positions/column']);
      graph!.node.splice(at, 0, ...column.graph.node);
      Object.assign(graph!.node[at + 1]!, { opType: 'GatherND', input: ['places', 'positions/column'] });
    });
    expect(await refused(path)).toBe('taken');
    const said = await refused(path, '--max-tokens', '513');
    expect(said).toMatch(/at 1 rows of 513 tokens: it cannot be run: .*positions\/rows/);
  });

  it('refuses rows that are not of length 1 although the metadata says so', async () => {
    const path = await changed(({ metadataProps, graph }) => {
      const last = graph!.node.at(-1)!;
      last.input = ['pooling/mean'];
      expect(metadataProps.find(({ key }) => key === 'rag_serving.normalize')?.value).toBe('true');
    });
    expect(await refused(path)).toMatch(/at 1 rows of 1 tokens: row 0 has length \S+, not 1/);
  });

  it('says what it did not try', async () => {
    const { stderr, manifest } = await runScript(dryRun(embedder), cleanEnv());
    expect(stderr).toContain('tried: 1 × 512 tokens');
    expect(stderr).toContain('not tried: 32 × 512 tokens (over 2048; --trial-tokens)');
    expect(manifest.trial?.filter(({ ran }) => ran).length).toBe(4);
    expect((await runScript(dryRun(embedder, '--trial-tokens', '0'), cleanEnv())).manifest.trial).toBeNull();
  });
});

describe('what the shell form can tell from the bytes', () => {
  it('refuses with the same words', async () => {
    const noMetadata = await changed((model) => {
      model.metadataProps = [];
    });
    const float32 = join(workshop.folder, 'float32.onnx');
    const cases: readonly (readonly string[])[] = [
      [reranker],
      [reranker, '--profile', 'online_rerank'],
      [noMetadata],
      [float32],
    ];
    for (const [onnx, ...more] of cases) {
      const args = dryRun(onnx!, ...more).filter(
        (arg, at, all) => arg !== '--trial-tokens' && all[at - 1] !== '--trial-tokens',
      );
      const { code, stderr } = await runShell(args, cleanEnv());
      expect({ args, code }).toEqual({ args, code: 3 });
      const [words] = stderr.trim().split(': ').slice(1).join(': ').split(', and it ');
      expect(await refused(onnx!, ...more)).toContain(words);
    }
  });

  it('reads the metadata of a file whatever else is in it', async () => {
    const path = await changed((model) => {
      model.docString = 'rag_serving.model is not what this is';
      model.metadataProps.unshift(
        create(StringStringEntryProtoSchema, { key: 'note', value: 'see rag_serving.model\x12' }),
      );
      model.metadataProps.push(
        create(StringStringEntryProtoSchema, { key: 'rag_serving.title', value: `"ä" \\ ${'x'.repeat(300)}` }),
      );
    });
    const args = dryRun(path, '--trial-tokens', '0');
    await runShell(args.slice(0, -4), cleanEnv());
    const plan = join(workshop.folder, 'out/model.plan.plan.json');
    const { fingerprint } = JSON.parse(await readFile(plan, 'utf8'));
    expect(fingerprint).toEqual((await runScript(args, cleanEnv())).manifest.fingerprint);
    expect(fingerprint.title).toHaveLength(306);
    await rm(plan);
  });
});
