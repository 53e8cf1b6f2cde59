/** The tensors of one embedding call (TEXT in, EMBEDDING out), and what is checked of the answer. */
import { ServingError } from '../errors.ts';
import { bytesPerVector, type VectorContract } from './contract.ts';
import { EMBEDDER_OUTPUT as EMBEDDING, EMBEDDER_INPUT as TEXT } from './model-contract.ts';
import type { InferRequest, InferResponse, OutputTensor, RegionRange, TensorData } from './tensor.ts';

/** @param rows texts in the call; @param output where the vectors go, inline when undefined */
export function embeddingRequest(
  contract: VectorContract,
  rows: number,
  text: TensorData,
  output?: RegionRange,
): InferRequest {
  return {
    modelName: contract.modelName,
    inputs: [{ name: TEXT, datatype: 'BYTES', shape: [rows, 1], data: text }],
    outputs: [output === undefined ? { name: EMBEDDING } : { name: EMBEDDING, region: output }],
  };
}

/** The EMBEDDING tensor of an answer, with exactly `rows` vectors of the contract. */
export function embeddingOf(response: InferResponse, contract: VectorContract, rows: number): OutputTensor {
  const output = response.outputs.find(({ name }) => name === EMBEDDING);
  if (output === undefined) throw invalid(contract, `no output ${EMBEDDING} in the answer`);
  const { datatype, shape } = output;
  if (datatype !== contract.dtype || shape.length !== 2 || shape[0] !== rows || shape[1] !== contract.dims) {
    throw invalid(
      contract,
      `${EMBEDDING} is ${datatype} [${shape.join(', ')}], expected ${contract.dtype} [${rows}, ${contract.dims}]`,
    );
  }
  const bytes = output.data.kind === 'inline' ? output.data.bytes.byteLength : output.data.range.byteSize;
  const expected = rows * bytesPerVector(contract);
  if (bytes !== expected) throw invalid(contract, `${EMBEDDING} has ${bytes} bytes, expected ${expected}`);
  return output;
}

function invalid(contract: VectorContract, what: string): ServingError {
  return new ServingError('INFERENCE_RESPONSE_INVALID', `model ${contract.modelName}: ${what}`);
}
