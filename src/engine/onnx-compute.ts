/** Compute on a text model: BYTES elements to texts, all requests of a batch in one call, rows in the model's dtype. */
import { elementText } from '../kserve/bytes.ts';
import { encodeFp16 } from '../kserve/fp16.ts';
import type { Columns, Compute, ComputeResult } from './compute.ts';
import type { TextModel } from './text-model.ts';

/** TEXT → EMBEDDING, FP16. */
export function embedderCompute(model: TextModel): Compute {
  return {
    async run(requests) {
      const values = await model.embed(texts(requests, 0));
      return split(requests, encodeFp16(values), model.dims * 2);
    },
  };
}

/** QUERY, PASSAGE → SCORE, FP32. */
export function rerankerCompute(model: TextModel): Compute {
  return {
    async run(requests) {
      const scores = await model.scorePairs(texts(requests, 0), texts(requests, 1));
      return split(requests, new Uint8Array(scores.buffer, scores.byteOffset, scores.byteLength), 4);
    },
  };
}

function texts(requests: readonly Columns[], column: number): string[] {
  return requests.flatMap((columns) => columns[column]!.map(elementText));
}

function split(requests: readonly Columns[], rows: Uint8Array, rowBytes: number): ComputeResult[] {
  let at = 0;
  return requests.map((columns) => {
    const start = at;
    at += columns[0]!.length * rowBytes;
    return rows.subarray(start, at);
  });
}
