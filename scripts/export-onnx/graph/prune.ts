/**
 * Drops what no output needs any more: a model that had several outputs keeps only the way to the one that is served.
 * An unused pooler would otherwise be loaded, checked for overflow and held in GPU memory for nothing.
 */
import type { GraphProto } from '../../onnx/gen/onnx_pb.ts';
import { readsOf } from './tensor-walk.ts';

export function prune(graph: GraphProto): void {
  const needed = new Set(graph.output.map(({ name }) => name));
  // Nodes lie in an order they can run in, so one walk from the end sees each reader before what it reads.
  const kept = graph.node.toReversed().filter((node) => {
    if (!node.output.some((name) => needed.has(name))) return false;
    for (const name of readsOf(node)) needed.add(name);
    return true;
  });
  graph.node = kept.toReversed();
  graph.initializer = graph.initializer.filter(({ name }) => needed.has(name));
  graph.sparseInitializer = graph.sparseInitializer.filter(({ values }) => needed.has(values?.name ?? ''));
  graph.valueInfo = graph.valueInfo.filter(({ name }) => needed.has(name));
}
