/** What is taken of a model's graph, and what is refused by name. */
import { describe, expect, it } from 'vitest';
import { matchInputs } from '../../../../scripts/export-onnx/graph/inputs.ts';
import { liftIrVersion } from '../../../../scripts/export-onnx/graph/opset.ts';
import { hiddenStates, logits } from '../../../../scripts/export-onnx/graph/outputs.ts';
import { prune } from '../../../../scripts/export-onnx/graph/prune.ts';
import { inferTypes } from '../../../../scripts/export-onnx/graph/value-types.ts';
import type { ModelProto } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { GraphBuilder, valueInfo } from '../../../../scripts/onnx/graph-builder.ts';
import { DataType } from '../../../../scripts/onnx/tensors.ts';
import { TINY_DIMS, tinyEncoder } from './tiny-encoder.ts';

/** The tiny encoder with a pooler, as sentence-transformers exports it. */
function withPooler(): ModelProto {
  const model = tinyEncoder();
  const builder = new GraphBuilder(model.graph!);
  builder.node('Identity', ['last_hidden_state'], ['token_embeddings']);
  builder.node('ReduceMax', ['last_hidden_state'], ['sentence_embedding']);
  model.graph!.output = [];
  builder.output('sentence_embedding', DataType.FLOAT, [1, 1, 1]);
  builder.output('token_embeddings', DataType.FLOAT, ['batch', 'sequence', TINY_DIMS]);
  return model;
}

describe('inputs', () => {
  const refused = [
    { name: 'a missing mask', change: (inputs: string[]) => inputs.slice(0, 1), says: /no input attention_mask/ },
    { name: 'an unknown input', change: (inputs: string[]) => [...inputs, 'position_ids'], says: /input position_ids/ },
  ];
  for (const { name, change, says } of refused) {
    it(`refuses ${name}`, () => {
      const graph = tinyEncoder().graph!;
      graph.input = change(['input_ids', 'attention_mask']).map((input) =>
        valueInfo(input, DataType.INT64, ['b', 's']),
      );
      expect(() => matchInputs(graph)).toThrow(says);
    });
  }

  it('refuses a size that is fixed', () => {
    const graph = tinyEncoder().graph!;
    graph.input[0] = valueInfo('input_ids', DataType.INT64, [1, 128]);
    expect(() => matchInputs(graph)).toThrow(/fixed size of 1: export the model with dynamic axes/);
  });

  it('initializers of the old file format are no inputs of the server', () => {
    const model = tinyEncoder();
    model.irVersion = 3n;
    model.graph!.input.push(valueInfo('words', DataType.FLOAT, [1]));
    liftIrVersion(model);
    expect(model.irVersion).toBe(4n);
    expect(model.graph!.input.map(({ name }) => name)).toEqual(['input_ids', 'attention_mask']);
  });
});

describe('outputs', () => {
  it('takes the hidden states, and drops what only the pooler needed', async () => {
    const model = withPooler();
    const graph = model.graph!;
    const output = hiddenStates(graph, await inferTypes(model));
    expect(output).toEqual({ name: 'token_embeddings', type: 'float32', width: TINY_DIMS });
    graph.output = graph.output.filter(({ name }) => name === output.name);
    prune(graph);
    expect(graph.node.map(({ opType }) => opType)).not.toContain('ReduceMax');
    expect(graph.node.at(-1)?.output).toEqual(['token_embeddings']);
  });

  it('refuses a model that gives something else, with the task to export it for', async () => {
    const classifier = tinyEncoder({ labels: 2 });
    expect(() => logits(tinyEncoder().graph!, new Map())).toThrow(/--task text-classification/);
    const types = await inferTypes(classifier);
    expect(logits(classifier.graph!, types)).toEqual({ name: 'logits', type: 'float32', width: 2 });
    expect(() => hiddenStates(classifier.graph!, types)).toThrow(
      /it has logits float32 \[batch, 2\].*feature-extraction/,
    );
  });

  it('a graph that onnxruntime does not take is refused with its versions', async () => {
    const model = tinyEncoder();
    model.graph!.node[0]!.opType = 'NoSuchOperator';
    await expect(inferTypes(model)).rejects.toThrow(/IR version 8, opsets ai.onnx 17/);
  });
});
