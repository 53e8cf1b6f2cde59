/**
 * The smallest inference that a model can be asked for, made from what it says of its inputs: one row of TEXT, or of QUERY
 * and PASSAGE. Pure. Its texts are fixed, so nothing of a user's is in it.
 */
import { encodeAll } from '../../kserve/bytes.ts';
import type { VectorDtype } from '../../kserve/contract.ts';
import { EMBEDDER_INPUT, RERANKER_PASSAGE, RERANKER_QUERY } from '../../kserve/model-contract.ts';
import type { ModelDescription } from '../../kserve/model-description.ts';
import type { InferRequest, InferResponse } from '../../kserve/tensor.ts';
import { vectorFault } from '../../kserve/vector.ts';

const TEXTS: Readonly<Record<string, string>> = {
  [EMBEDDER_INPUT]: 'ready',
  [RERANKER_QUERY]: 'ready',
  [RERANKER_PASSAGE]: 'ready',
};
const KINDS = [[EMBEDDER_INPUT], [RERANKER_QUERY, RERANKER_PASSAGE]];

/** Undefined for a model that takes something else, such as the token ids of a step inside an ensemble. */
export function probeRequest({ name, inputs, outputs }: ModelDescription): InferRequest | undefined {
  const names = inputs.map((input) => input.name);
  const fits = KINDS.some((kind) => kind.length === names.length && kind.every((one) => names.includes(one)));
  if (!fits || inputs.some(({ datatype }) => datatype !== 'BYTES')) return undefined;
  return {
    modelName: name,
    inputs: names.map((input) => ({
      name: input,
      datatype: 'BYTES',
      shape: [1, 1],
      data: { kind: 'inline', bytes: encodeAll([TEXTS[input]!]) },
    })),
    outputs: outputs.map((output) => ({ name: output.name })),
  };
}

/** What is wrong with an answer; undefined for a sound one. A score of zero is sound, a vector of zeros is not. */
export function answerFault({ outputs }: InferResponse): string | undefined {
  for (const { name, datatype, data } of outputs) {
    if (data.kind !== 'inline' || data.bytes.byteLength === 0) return `output ${name} came back empty`;
    if (datatype !== 'FP16' && datatype !== 'FP32') continue;
    const fault = vectorFault(data.bytes, datatype satisfies VectorDtype);
    if (fault === 'VECTOR_NOT_FINITE') return `output ${name} is not finite`;
    if (fault === 'VECTOR_ZERO' && data.bytes.byteLength > 4) return `output ${name} is all zeros`;
  }
  return outputs.length === 0 ? 'the answer has no output' : undefined;
}
