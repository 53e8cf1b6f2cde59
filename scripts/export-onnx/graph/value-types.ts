/**
 * The type and shape of every value in a graph, as onnxruntime infers them.
 *
 * A file need not say them, and a table of operators here would be wrong for the next one. So a copy of the graph that
 * puts every value out is opened (never run) and asked. Weights become inputs in it: their values do not matter, and a
 * model of gigabytes is asked as fast as a small one.
 */
import { create } from '@bufbuild/protobuf';
import { InferenceSession } from 'onnxruntime-node';
import { ServingError } from '../../../src/errors.ts';
import {
  type GraphProto,
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  ValueInfoProtoSchema,
} from '../../onnx/gen/onnx_pb.ts';
import { valueInfo } from '../../onnx/graph-builder.ts';
import { encodeModel } from '../../onnx/model-file.ts';

export type ValueType = {
  /** As onnxruntime calls it: 'float32', 'int64', … */
  readonly type: string;
  /** A number where the size is known; empty when not even the rank is. */
  readonly shape: readonly (number | string)[];
};

/** Shapes and axes are smaller and must stay, since other shapes follow from their values. */
const LARGEST_KEPT_ELEMENTS = 64;

/** Throws ENGINE_MODEL_INVALID for a graph that onnxruntime does not take. */
export async function inferTypes(model: ModelProto): Promise<Map<string, ValueType>> {
  const { irVersion, opsetImport, functions } = model;
  const probe = create(ModelProtoSchema, { irVersion, opsetImport, functions, graph: openGraph(model.graph!) });
  let session: InferenceSession;
  try {
    session = await InferenceSession.create(encodeModel(probe), {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'disabled',
      logSeverityLevel: 4,
    });
  } catch (cause) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `onnxruntime does not take this graph (IR version ${model.irVersion}, opsets ${opsets(model)}): export the model anew`,
      { cause },
    );
  }
  try {
    const known = [...session.inputMetadata, ...session.outputMetadata];
    return new Map(known.flatMap((value) => (value.isTensor ? [[value.name, value] as const] : [])));
  } finally {
    await session.release();
  }
}

function openGraph(graph: GraphProto): GraphProto {
  const weights = graph.initializer.filter(({ dims }) => dims.reduce((a, b) => a * b, 1n) > LARGEST_KEPT_ELEMENTS);
  const weightNames = new Set(weights.map(({ name }) => name));
  const given = new Map(graph.output.map((output) => [output.name, output]));
  const values = new Set([
    ...graph.node.flatMap(({ output }) => output.filter((name) => name !== '')),
    ...given.keys(),
  ]);
  return create(GraphProtoSchema, {
    name: graph.name,
    node: graph.node,
    sparseInitializer: graph.sparseInitializer,
    initializer: graph.initializer.filter(({ name }) => !weightNames.has(name)),
    input: [
      ...graph.input.filter(({ name }) => !weightNames.has(name)),
      ...weights.map(({ name, dataType, dims }) => valueInfo(name, dataType as never, dims.map(Number))),
    ],
    output: [...values].map((name) => given.get(name) ?? create(ValueInfoProtoSchema, { name })),
  });
}

function opsets({ opsetImport }: ModelProto): string {
  return opsetImport.map(({ domain, version }) => `${domain || 'ai.onnx'} ${version}`).join(', ');
}
