import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { embedderContract, rerankerContract } from '../../../src/kserve/model-contract.ts';
import type { ModelDescription } from '../../../src/kserve/model-description.ts';

const embedder: ModelDescription = {
  name: 'batch_embedder_ensemble',
  versions: ['1', '10', '9'],
  platform: 'ensemble',
  inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [-1, 1] }],
  outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [-1, 384] }],
  maxBatchSize: 256,
  parameters: { fingerprint: 'minilm:abc/mean/FP16/384' },
};
const reranker: ModelDescription = {
  ...embedder,
  name: 'online_reranker_ensemble',
  inputs: [
    { name: 'PASSAGE', datatype: 'BYTES', shape: [-1, 1] },
    { name: 'QUERY', datatype: 'BYTES', shape: [-1, 1] },
  ],
  outputs: [{ name: 'SCORE', datatype: 'FP32', shape: [-1, 1] }],
  maxBatchSize: 32,
};

function mismatches(check: () => unknown): readonly string[] {
  try {
    check();
  } catch (error) {
    if (error instanceof ServingError && error.code === 'MODEL_CONTRACT_MISMATCH') {
      const found = error.details.mismatches as string[];
      expect(found.every((mismatch) => error.message.includes(mismatch))).toBe(true);
      return found;
    }
    throw error;
  }
  return [];
}

describe('embedder contract', () => {
  it('takes dims, dtype, max batch and fingerprint from the model', () => {
    expect(embedderContract(embedder)).toEqual({
      modelName: 'batch_embedder_ensemble',
      fingerprint: 'minilm:abc/mean/FP16/384',
      dims: 384,
      dtype: 'FP16',
      maxBatch: 256,
    });
  });

  it('derives a fingerprint from what is known of a model without one', () => {
    for (const parameters of [{}, { fingerprint: ' ' }] as Record<string, string>[]) {
      expect(embedderContract({ ...embedder, parameters }).fingerprint).toBe('batch_embedder_ensemble@10/384/FP16');
    }
  });

  it('takes an FP32 model and further outputs', () => {
    const outputs = [
      { name: 'TOKENS', datatype: 'INT64', shape: [-1, -1] },
      { name: 'EMBEDDING', datatype: 'FP32', shape: [-1, 768] },
    ];
    expect(embedderContract({ ...embedder, outputs })).toMatchObject({ dims: 768, dtype: 'FP32' });
  });

  const batches: { maxBatchSize: number; input: number[]; output: number[]; maxBatch: number }[] = [
    { maxBatchSize: 1, input: [-1, 1], output: [-1, 384], maxBatch: 1 },
    { maxBatchSize: 0, input: [-1, 1], output: [-1, 384], maxBatch: 1 },
    { maxBatchSize: 0, input: [1, 1], output: [1, 384], maxBatch: 1 },
    { maxBatchSize: 32, input: [-1, 1], output: [-1, 384], maxBatch: 32 },
  ];
  for (const { maxBatchSize, input, output, maxBatch } of batches) {
    it(`max_batch_size ${maxBatchSize} with input [${input}] means calls of at most ${maxBatch} rows (T12)`, () => {
      const model = {
        ...embedder,
        maxBatchSize,
        inputs: [{ ...embedder.inputs[0]!, shape: input }],
        outputs: [{ ...embedder.outputs[0]!, shape: output }],
      };
      expect(embedderContract(model).maxBatch).toBe(maxBatch);
    });
  }

  const wrong: { name: string; model: Partial<ModelDescription>; found: string[] }[] = [
    {
      name: 'another input',
      model: { inputs: [{ name: 'text', datatype: 'BYTES', shape: [-1, 1] }] },
      found: ['input TEXT: expected, found text', 'input text: nothing to feed it with, expected only TEXT'],
    },
    { name: 'no output', model: { outputs: [] }, found: ['output EMBEDDING: expected, found none'] },
    {
      name: 'everything wrong at once is told at once',
      model: {
        inputs: [{ name: 'TEXT', datatype: 'INT64', shape: [-1, 512] }],
        outputs: [{ name: 'EMBEDDING', datatype: 'INT8', shape: [-1, -1] }],
      },
      found: [
        'input TEXT datatype: expected BYTES, found INT64',
        'input TEXT shape: expected [-1,1], found [-1,512]',
        'output EMBEDDING datatype: expected FP16 or FP32, found INT8',
        'output EMBEDDING shape: expected [-1,D with D ≥ 1], found [-1,-1]',
      ],
    },
    {
      name: 'one row only although the model batches',
      model: { inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [1, 1] }] },
      found: ['input TEXT shape: expected [-1,1], found [1,1]'],
    },
    {
      name: 'a vector a token instead of a text',
      model: { outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [-1, -1, 384] }] },
      found: ['output EMBEDDING shape: expected [-1,D with D ≥ 1], found [-1,-1,384]'],
    },
    {
      name: 'a negative max batch',
      model: { maxBatchSize: -1 },
      found: ['max_batch_size: expected a whole number ≥ 0, found -1'],
    },
  ];
  for (const { name, model, found } of wrong) {
    it(`refuses ${name}`, () => expect(mismatches(() => embedderContract({ ...embedder, ...model }))).toEqual(found));
  }
});

describe('reranker contract', () => {
  it('inputs may come in any order', () => {
    expect(rerankerContract(reranker)).toEqual({ modelName: 'online_reranker_ensemble', maxBatch: 32 });
  });

  it('an embedder is no reranker, and the other way round', () => {
    expect(mismatches(() => rerankerContract(embedder))).toEqual([
      'input QUERY: expected, found TEXT',
      'input PASSAGE: expected, found TEXT',
      'input TEXT: nothing to feed it with, expected only QUERY, PASSAGE',
      'output SCORE: expected, found EMBEDDING',
    ]);
    expect(mismatches(() => embedderContract(reranker))).toHaveLength(4);
  });

  it('refuses FP16 scores and two scores a pair', () => {
    const outputs = [{ name: 'SCORE', datatype: 'FP16', shape: [-1, 2] }];
    expect(mismatches(() => rerankerContract({ ...reranker, outputs }))).toEqual([
      'output SCORE datatype: expected FP32, found FP16',
      'output SCORE shape: expected [-1,1], found [-1,2]',
    ]);
  });
});
