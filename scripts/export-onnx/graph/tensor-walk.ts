/** Every tensor and every name that a graph holds, those inside the bodies of If, Loop and Scan too. */
import type { GraphProto, NodeProto, TensorProto } from '../../onnx/gen/onnx_pb.ts';

export function bodiesOf(node: NodeProto): GraphProto[] {
  return node.attribute.flatMap(({ g, graphs }) => (g === undefined ? graphs : [g, ...graphs]));
}

export function* tensorsOf(graph: GraphProto): Generator<TensorProto> {
  yield* graph.initializer;
  for (const node of graph.node) {
    for (const { t, tensors } of node.attribute) {
      if (t !== undefined) yield t;
      yield* tensors;
    }
    for (const body of bodiesOf(node)) yield* tensorsOf(body);
  }
}

/** Names that a node reads: its inputs, and what its bodies take from the graphs around them. */
export function readsOf(node: NodeProto): string[] {
  return [...node.input.filter((name) => name !== ''), ...capturesOf(node)];
}

export function capturesOf(node: NodeProto): string[] {
  return bodiesOf(node).flatMap((body) => {
    const own = new Set([
      ...body.input.map(({ name }) => name),
      ...body.initializer.map(({ name }) => name),
      ...body.node.flatMap(({ output }) => output),
    ]);
    const read = [...body.node.flatMap(readsOf), ...body.output.map(({ name }) => name)];
    return read.filter((name) => !own.has(name));
  });
}
