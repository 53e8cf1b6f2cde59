import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as attribute from '../../../../scripts/onnx/attributes.ts';
import { GraphBuilder } from '../../../../scripts/onnx/graph-builder.ts';
import {
  composeModel,
  decodeModel,
  encodeModel,
  readModelFile,
  writeModelFile,
} from '../../../../scripts/onnx/model-file.ts';
import { boolTensor, DataType, float32Tensor, int64Tensor, stringTensor } from '../../../../scripts/onnx/tensors.ts';

const OPTIONS = { irVersion: 9, opsets: { '': 17 }, producer: 'test', producerVersion: '1' };

/** sum = rows added up, plus 0.5, as a graph that exists before more nodes come to its end. */
function summing() {
  const builder = new GraphBuilder('summing');
  builder.input('x', DataType.FLOAT, ['n', 2]);
  builder.constant(int64Tensor('axis', [0], [1]));
  builder.constant(float32Tensor('half', [0.5], []));
  builder.node('ReduceSum', ['x', 'axis'], ['sum'], { attributes: { keepdims: attribute.int(0) } });
  builder.node('Add', ['sum', 'half'], ['y']);
  builder.output('y', DataType.FLOAT, [2]);
  return composeModel(builder.graph, OPTIONS);
}

async function run(bytes: Uint8Array): Promise<number[]> {
  const session = await InferenceSession.create(bytes, { logSeverityLevel: 3 });
  const outputs = await session.run({ x: new Tensor('float32', [1, 2, 3, 4], [2, 2]) });
  return [...(outputs.y!.data as Float32Array)];
}

describe('ONNX model files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-onnx-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('onnxruntime runs what the builder builds', async () => {
    expect(await run(encodeModel(summing()))).toEqual([4.5, 6.5]);
  });

  it('a graph that was read takes further nodes', async () => {
    const file = join(folder, 'model.onnx');
    await writeModelFile(file, summing());
    const model = await readModelFile(file);
    model.graph!.output = [];
    const builder = new GraphBuilder(model.graph!);
    builder.node('Neg', ['y'], ['z']);
    builder.node('Identity', ['z'], ['w']);
    builder.output('w', DataType.FLOAT, [2]);
    const session = await InferenceSession.create(encodeModel(model), { logSeverityLevel: 3 });
    const outputs = await session.run({ x: new Tensor('float32', [1, 2, 3, 4], [2, 2]) });
    expect([...(outputs.w!.data as Float32Array)]).toEqual([-4.5, -6.5]);
  });

  it('a model read and written unchanged is the same bytes, unknown fields included', async () => {
    const unknownField = Uint8Array.of(0xfa, 0x7d, 3, 1, 2, 3); // field 2015, three bytes
    const bytes = Buffer.concat([encodeModel(summing()), unknownField]);
    const [from, to] = [join(folder, 'from.onnx'), join(folder, 'to.onnx')];
    await writeFile(from, bytes);
    await writeModelFile(to, await readModelFile(from));
    expect((await readFile(to)).equals(bytes)).toBe(true);
    expect((await readdir(folder)).sort()).toEqual(['from.onnx', 'to.onnx']);
  });

  it.each([
    ['no protobuf', Buffer.from('<html>not found</html>')],
    ['an empty file', Buffer.alloc(0)],
    ['half a model', Buffer.from(encodeModel(summing())).subarray(0, 60)],
  ])('%s is refused by name', (_, bytes) => {
    expect(() => decodeModel(bytes, 'model.onnx')).toThrow(
      expect.objectContaining({
        code: 'ENGINE_MODEL_INVALID',
        message: expect.stringContaining('model.onnx is no ONNX model'),
      }),
    );
  });

  it('a constant whose values do not fill its shape is refused', () => {
    expect(() => int64Tensor('axes', [1, 2], [3])).toThrow('tensor axes has 2 values for a shape of 3');
    expect(() => stringTensor('words', ['a'], [2])).toThrow('tensor words has 1 values for a shape of 2');
  });

  it('every kind of constant keeps its values', () => {
    expect(Buffer.from(boolTensor('b', [true, false], [2]).rawData).toString('hex')).toBe('0100');
    expect(Buffer.from(int64Tensor('i', [-2], []).rawData).readBigInt64LE()).toBe(-2n);
    expect(stringTensor('s', ['é', ''], [2]).stringData.map((item) => Buffer.from(item).toString())).toEqual(['é', '']);
  });
});
