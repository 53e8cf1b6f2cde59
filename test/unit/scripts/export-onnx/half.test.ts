/** What goes to FP16 and what stays, on graphs made for one trait each. */
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { convertToHalf } from '../../../../scripts/export-onnx/half/convert.ts';
import { HALF_MAX } from '../../../../scripts/export-onnx/half/floats.ts';
import { HALF_MASK, isMask } from '../../../../scripts/export-onnx/half/masks.ts';
import * as attribute from '../../../../scripts/onnx/attributes.ts';
import type { ModelProto } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { GraphBuilder } from '../../../../scripts/onnx/graph-builder.ts';
import { composeModel, encodeModel } from '../../../../scripts/onnx/model-file.ts';
import { boolTensor, DataType, float32Tensor } from '../../../../scripts/onnx/tensors.ts';
import { tinyEncoder } from './tiny-encoder.ts';

const OPSET = 17;

/** input_ids → embeddings `x` of two dimensions → whatever `build` adds → y. */
function encoder(build: (builder: GraphBuilder) => void): ModelProto {
  const builder = new GraphBuilder('encoder');
  builder.input('input_ids', DataType.INT64, ['batch', 'sequence']);
  builder.constant(float32Tensor('words', [0.1, 0.2, -0.3, 0.4, 0.5, -0.6], [3, 2]));
  builder.node('Gather', ['words', 'input_ids'], ['x']);
  build(builder);
  builder.output('y', DataType.FLOAT, ['batch', 'sequence', 2]);
  return composeModel(builder.graph, { irVersion: 8, opsets: { '': OPSET }, producer: 'test', producerVersion: '1' });
}

async function run(model: ModelProto): Promise<number[]> {
  const session = await InferenceSession.create(encodeModel(model), { logSeverityLevel: 4 });
  const outputs = await session.run({ input_ids: new Tensor('int64', [0n, 1n, 2n], [1, 3]) });
  return [...(outputs.y!.data as Float32Array)];
}

/** Converts, checks that the result is the same to FP16's precision, and gives the report and the graph. */
async function converted(build: (builder: GraphBuilder) => void) {
  const before = await run(encoder(build));
  const model = encoder(build);
  const report = await convertToHalf(model, OPSET);
  const after = await run(model);
  after.forEach((value, index) => {
    expect(value).toBeCloseTo(before[index]!, 2);
  });
  return { report, graph: model.graph! };
}

const square = (builder: GraphBuilder, name = 'w') => builder.constant(float32Tensor(name, [1, 2, 3, 4], [2, 2]));

describe('conversion to FP16', () => {
  it('keeps softmax in FP32 between products in FP16, and weights once', async () => {
    const { report, graph } = await converted((builder) => {
      builder.node('MatMul', ['x', square(builder)], ['product']);
      builder.node('Softmax', ['product'], ['soft'], { attributes: { axis: attribute.int(-1) } });
      builder.node('MatMul', ['soft', 'w'], ['y']);
    });
    expect(report).toMatchObject({ halfNodes: 3, float32Nodes: { Softmax: 1 } });
    expect(graph.initializer.map(({ name, dataType }) => [name, dataType])).toEqual([
      ['words/fp16', DataType.FLOAT16],
      ['w/fp16', DataType.FLOAT16],
    ]);
  });

  it('a weight that both precisions read is there in both', async () => {
    const { graph } = await converted((builder) => {
      builder.node('Add', ['x', builder.constant(float32Tensor('row', [1, 2], [2]))], ['sum']);
      builder.node('Softmax', ['sum'], ['soft'], { attributes: { axis: attribute.int(-1) } });
      builder.node('PRelu', ['soft', 'row'], ['y']);
    });
    expect(graph.initializer.map(({ name }) => name)).toEqual(expect.arrayContaining(['row', 'row/fp16']));
  });

  it('a small number against division by zero keeps its node in FP32', async () => {
    const { report } = await converted((builder) => {
      builder.node('Abs', ['x'], ['magnitude']);
      builder.node('Add', ['magnitude', builder.constant(float32Tensor('tiny', [1e-12], []))], ['safe']);
      builder.node('Div', ['x', 'safe'], ['y']);
    });
    expect(report.float32Nodes).toEqual({ Add: 1 });
  });

  it('dynamically quantised products stay, with their scales and their integers beyond FP16', async () => {
    const { report } = await converted((builder) => {
      builder.constant(float32Tensor('weight/scale', [0.0001], []));
      builder.constant({ ...boolTensor('weight/int8', [true, false, false, true], [2, 2]), dataType: DataType.INT8 });
      builder.node('DynamicQuantizeLinear', ['x'], ['x/uint8', 'x/scale', 'x/zero']);
      builder.node('MatMulInteger', ['x/uint8', 'weight/int8', 'x/zero'], ['integers']);
      builder.node('Cast', ['integers'], ['integers/float'], { attributes: { to: attribute.int(DataType.FLOAT) } });
      builder.node('Mul', ['x/scale', 'weight/scale'], ['scale']);
      builder.node('Mul', ['integers/float', 'scale'], ['scaled']);
      builder.node('MatMul', ['scaled', square(builder)], ['y']);
    });
    expect(report.halfValues).toEqual(['x', 'scaled', 'y']);
    expect(report.float32Nodes).toEqual({ DynamicQuantizeLinear: 1, Mul: 2 });
  });

  it('what the branches of an If read from outside is still there for them', async () => {
    const branch = (name: string) => {
      const builder = new GraphBuilder(name);
      builder.node('Neg', ['product'], [`${name}/out`]);
      builder.output(`${name}/out`, DataType.FLOAT, ['batch', 'sequence', 2]);
      return attribute.graph(builder.graph);
    };
    const { report } = await converted((builder) => {
      builder.node('MatMul', ['x', square(builder)], ['product']);
      builder.constant(boolTensor('condition', [true], []));
      const attributes = { then_branch: branch('yes'), else_branch: branch('no') };
      builder.node('If', ['condition'], ['chosen'], { attributes });
      builder.node('MatMul', ['chosen', 'w'], ['y']);
    });
    expect(report).toMatchObject({ halfNodes: 3, float32Nodes: { If: 1 } });
  });

  it('weights that are turned at run time are FP16 all the same', async () => {
    const { report, graph } = await converted((builder) => {
      builder.node('Transpose', [square(builder)], ['turned']);
      builder.node('MatMul', ['x', 'turned'], ['y']);
    });
    expect(report.float32Nodes).toEqual({});
    expect(graph.initializer.every(({ dataType }) => dataType === DataType.FLOAT16)).toBe(true);
  });

  it('LayerNorm in pieces stays FP32: one operator from opset 17 on, the pieces before', async () => {
    const late = await convertToHalf(tinyEncoder({ opset: 17 }), 17);
    expect(late.float32Nodes).toMatchObject({ LayerNormalization: 2, Softmax: 1 });
    const early = await convertToHalf(tinyEncoder({ opset: 13 }), 13);
    expect(early.float32Nodes).toMatchObject({ ReduceMean: 4, Pow: 2, Sqrt: 2, Div: 2, Softmax: 1 });
    // Its result is cast for the product that follows, and a cast can overflow too.
    for (const report of [late, early]) {
      expect(report.halfValues).toContain('second/out');
      expect(report.halfValues).not.toContain('second/scaled');
    }
  });
});

describe('masks', () => {
  const cases = [
    { name: 'the smallest float', values: [-3.4028234663852886e38], mask: true },
    { name: 'a table of zeros and minus infinity', values: [0, Number.NEGATIVE_INFINITY, 0], mask: true },
    { name: "FP16's own smallest number", values: [-HALF_MAX], mask: true },
    { name: 'the value that is put in its place', values: [HALF_MASK], mask: false },
    { name: 'weights with one large negative number', values: [0.5, -40_000], mask: false },
    { name: 'zeros', values: [0, 0], mask: false },
  ];
  for (const { name, values, mask } of cases) {
    it(`${name}: ${mask ? 'a mask' : 'none'}`, () => expect(isMask(Float32Array.from(values))).toBe(mask));
  }
});
