/** An encoder as export-onnx leaves it, of two nodes: it is never run, only read. */
import { create } from '@bufbuild/protobuf';
import { int } from '../../../../scripts/onnx/attributes.ts';
import { StringStringEntryProtoSchema } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { GraphBuilder } from '../../../../scripts/onnx/graph-builder.ts';
import { composeModel, writeModelFile } from '../../../../scripts/onnx/model-file.ts';
import { DataType } from '../../../../scripts/onnx/tensors.ts';

export type SmallEncoder = {
  readonly inputs?: readonly string[];
  readonly output?: string;
  readonly dims?: number;
  readonly properties?: Readonly<Record<string, string>>;
};

export async function writeSmallEncoder(path: string, encoder: SmallEncoder = {}): Promise<void> {
  const { inputs = ['input_ids', 'attention_mask'], output = 'EMBEDDING', dims = 8, properties = {} } = encoder;
  const graph = new GraphBuilder('encoder');
  for (const name of inputs) graph.input(name, DataType.INT64, ['batch', 'sequence']);
  graph.node('Cast', [inputs[0]!], [output], { attributes: { to: int(DataType.FLOAT) } });
  graph.output(output, DataType.FLOAT, ['batch', dims]);
  const model = composeModel(graph.graph, { irVersion: 8, opsets: { '': 17 }, producer: 'test', producerVersion: '1' });
  for (const [key, value] of Object.entries(properties)) {
    model.metadataProps.push(create(StringStringEntryProtoSchema, { key: `rag_serving.${key}`, value }));
  }
  await writeModelFile(path, model);
}
