import { describe, expect, it } from 'vitest';
import { adviceFor } from '../../../../scripts/build-trt-engine/failure.ts';
import { profileShapes, shapeSpec } from '../../../../scripts/build-trt-engine/profile-shapes.ts';
import { cornersOf, outputFault } from '../../../../scripts/build-trt-engine/trial.ts';
import { parseVersion } from '../../../../scripts/build-trt-engine/trtexec.ts';
import { shellLine } from '../../../../scripts/build-trt-engine/trtexec-command.ts';
import { workspaceMib } from '../../../../scripts/build-trt-engine/workspace.ts';
import { embeddingTables } from '../../../../scripts/export-onnx/graph/embedding-tables.ts';
import { inferTypes } from '../../../../scripts/export-onnx/graph/value-types.ts';
import { GraphBuilder } from '../../../../scripts/onnx/graph-builder.ts';
import { composeModel } from '../../../../scripts/onnx/model-file.ts';
import { DataType, float32Tensor, int64Tensor } from '../../../../scripts/onnx/tensors.ts';
import { pools } from '../../../../scripts/pools.ts';
import { tinyEncoder } from '../export-onnx/tiny-encoder.ts';

describe('shapes of a profile', () => {
  it('go from one token to the most that the pool allows, best at what it sees most', () => {
    expect(profileShapes(pools.online_rerank, {})).toEqual({
      min: { batch: 1, tokens: 1 },
      opt: { batch: 32, tokens: 256 },
      max: { batch: 32, tokens: 2048 },
    });
  });

  it('keep the middle inside of smaller limits', () => {
    expect(profileShapes(pools.batch_ingestion, { maxBatch: 64, maxTokens: 128 })).toMatchObject({
      opt: { batch: 64, tokens: 128 },
      max: { batch: 64, tokens: 128 },
    });
  });

  it('are written for each input', () => {
    expect(shapeSpec(['input_ids', 'attention_mask'], { batch: 8, tokens: 64 })).toBe(
      'input_ids:8x64,attention_mask:8x64',
    );
  });
});

describe('workspace', () => {
  it('is half of what the weights leave', () => {
    expect(workspaceMib(20 * 2 ** 30, 4 * 2 ** 30)).toBe(8192);
    expect(workspaceMib(20 * 2 ** 30, 1)).toBe(10239);
  });

  it('a model that leaves none is refused with the setting and both numbers', () => {
    expect(() => workspaceMib(2 ** 30, 2 ** 30 - 1)).toThrow(
      /RAG_SERVING_MAX_STATIC_VRAM_BYTES \(1073741824\) leaves less than 256 MiB of workspace beside 1073741823 bytes/,
    );
  });
});

describe('a command for a shell', () => {
  it('quotes what a shell would take apart', () => {
    expect(shellLine(['a b', "it's", 'plain=1x1,2:3', '$HOME', ''])).toBe(`'a b' 'it'\\''s' plain=1x1,2:3 '$HOME' ''`);
  });
});

describe('the version of TensorRT', () => {
  it.each([
    ['&&&& RUNNING TensorRT.trtexec [TensorRT v101600] [b26] # trtexec --help', '10.16.0'],
    ['&&&& RUNNING TensorRT.trtexec [TensorRT v110102] [b1]', '11.1.2'],
    ['&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec', '8.6.1'],
    ['trtexec: command of another kind', undefined],
  ])('of %s is %s', (banner, version) => {
    expect(parseVersion(banner)).toBe(version);
  });
});

describe('advice', () => {
  it.each([
    ['[E] Cannot find any available devices (GPUs)!', 'no GPU is to be seen'],
    ['CUDA driver version is insufficient for CUDA runtime version', 'the driver or the GPU is too old'],
    ['[E] Error Code 10: Could not find any implementation for node {ForeignNode[...]}', 'give a larger --workspace'],
    ['[E] Unknown option: --stronglyTyped ', 'TensorRT 10 or newer is needed'],
  ])('on %s', (tail, advice) => {
    expect(adviceFor(tail, { code: 1, signal: null })).toContain(advice);
  });

  it('is none where nothing is known', () => {
    expect(adviceFor('Error Code 99', { code: 1, signal: null })).toBeUndefined();
  });
});

describe('corners', () => {
  it('are each tried once, the smallest first, the too large ones named', () => {
    const shapes = profileShapes(pools.batch_ingestion, {});
    expect(cornersOf(shapes, 512)).toEqual([
      { batch: 1, tokens: 1, ran: true },
      { batch: 256, tokens: 1, ran: true },
      { batch: 1, tokens: 512, ran: true },
      { batch: 256, tokens: 256, ran: false },
      { batch: 256, tokens: 512, ran: false },
    ]);
    expect(cornersOf(profileShapes(pools.online_embed, { maxBatch: 1, maxTokens: 1 }), 512)).toHaveLength(1);
  });

  it('what comes back is looked at', () => {
    const rows = { values: Float32Array.of(0.6, 0.8, 1, 0), dims: [2, 2] };
    expect(outputFault(rows, 2, true)).toBeUndefined();
    expect(outputFault(rows, 4, true)).toContain('[2, 2], not 4 rows');
    expect(outputFault({ ...rows, values: Float32Array.of(0.6, 0.8, Number.NaN, 0) }, 2, false)).toBe(
      'row 1 is not finite',
    );
    expect(outputFault({ ...rows, values: Float32Array.of(0.6, 0.8, 2, 0) }, 2, true)).toBe(
      'row 1 has length 2.000, not 1',
    );
    expect(outputFault({ ...rows, values: Float32Array.of(0.6, 0.8, 2, 0) }, 2, false)).toBeUndefined();
  });
});

describe('tables of positions', () => {
  const tablesOf = async (model: ReturnType<typeof tinyEncoder>) =>
    embeddingTables(model.graph!, await inferTypes(model));

  it('are told from those of words and token types', async () => {
    expect(await tablesOf(tinyEncoder({ positions: 64, tokenTypes: true }))).toEqual({ vocabulary: 77, positions: 64 });
    expect(await tablesOf(tinyEncoder())).toEqual({ vocabulary: 77 });
  });

  const width = 4;
  const build = (index: (builder: GraphBuilder) => string, columns = width) => {
    const builder = new GraphBuilder('tables');
    builder.input('input_ids', DataType.INT64, ['batch', 'sequence']);
    const table = (name: string, rows: number, cells: number) =>
      builder.constant(float32Tensor(name, Array<number>(rows * cells).fill(0), [rows, cells]));
    builder.node('Gather', [table('words', 90, width), 'input_ids'], ['a']);
    builder.node('Gather', [table('other', 40, columns), index(builder)], ['b']);
    builder.output('a', DataType.FLOAT, ['batch', 'sequence', width]);
    builder.output('b', DataType.FLOAT, ['rows', columns]);
    return composeModel(builder.graph, { irVersion: 8, opsets: { '': 17 }, producer: 'test', producerVersion: '1' });
  };
  const ramp = Array.from({ length: 40 }, (_, at) => at);

  it('are those that a constant 0, 1, 2 … points into (BERT)', async () => {
    const model = build((builder) => builder.constant(int64Tensor('ids', ramp, [40])));
    expect(await tablesOf(model)).toEqual({ vocabulary: 90, positions: 40 });
  });

  it('are those that a running count of the tokens points into (RoBERTa)', async () => {
    const model = build((builder) => {
      const axis = builder.constant(int64Tensor('axis', [0], []));
      const flat = builder.constant(int64Tensor('flat', [-1], [1]));
      builder.node('Reshape', ['input_ids', flat], ['row']);
      return builder.node('CumSum', ['row', axis], ['count']);
    });
    expect(await tablesOf(model)).toEqual({ vocabulary: 90, positions: 40 });
  });

  it('are not those of a token type that is always 0, nor buckets of relative positions', async () => {
    const zeros = build((builder) => builder.constant(int64Tensor('zeros', Array<number>(40).fill(0), [40])));
    expect(await tablesOf(zeros)).toEqual({ vocabulary: 90 });
    const buckets = build((builder) => builder.constant(int64Tensor('ids', ramp, [40])), 2);
    expect(await tablesOf(buckets)).toEqual({ vocabulary: 90 });
  });
});
