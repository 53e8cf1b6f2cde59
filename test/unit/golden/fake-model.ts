/**
 * A model server in memory for the check's tests: it answers as told, call by call. What a real one does is in
 * test/integration/models; here are the answers that no real one gives when asked to.
 */
import { ServingError } from '../../../src/errors.ts';
import type { Golden, GoldenEmbedder, GoldenReranker } from '../../../src/golden/golden-file.ts';
import type { CallOptions, ModelDescription } from '../../../src/inference/client.ts';
import { decodeTexts } from '../../../src/kserve/bytes.ts';
import { encodeFp16 } from '../../../src/kserve/fp16.ts';
import type { InferRequest, InferResponse } from '../../../src/kserve/tensor.ts';

export const FINGERPRINT = 'tiny@1';

export function goldenEmbedder(vectors: Readonly<Record<string, readonly number[]>>): GoldenEmbedder {
  const rows = Object.entries(vectors).map(([text, vector]) => ({
    ...{ label: `row ${text.replaceAll(/\W/g, '_')}`, text, vector: Float32Array.from(vector) },
  }));
  return {
    ...ABOUT,
    ...{ kind: 'embedder', dims: rows[0]!.vector.length, dtype: 'FP32', rows },
  };
}

export function goldenReranker(scores: Readonly<Record<string, number>>): GoldenReranker {
  const rows = Object.entries(scores).map(([passage, score]) => ({ label: passage, query: 'q', passage, score }));
  return { ...ABOUT, kind: 'reranker', rows };
}

const ABOUT = {
  fingerprint: FINGERPRINT,
  producer: { kind: 'reference', program: 'test', version: '1', model: 'tiny', properties: {} },
  maxTokens: 512,
  precision: 'FP32',
} as const;

export type FakeOptions = {
  readonly golden: Golden;
  /** What differs from the golden file: by text (or passage), alone and in a batch. */
  readonly answer?: (text: string, rows: number) => readonly number[] | ServingError | undefined;
  readonly ready?: () => boolean | ServingError;
  readonly maxBatch?: number;
  readonly dtype?: 'FP16' | 'FP32';
  readonly fingerprint?: string;
  /** Before each inference; what it throws the call throws. */
  readonly beforeCall?: (rows: number, options: CallOptions) => Promise<void> | void;
};

export class FakeModel {
  readonly target = 'fake:1';
  /** Rows of each inference. */
  readonly calls: number[] = [];
  readonly #options: FakeOptions;

  constructor(options: FakeOptions) {
    this.#options = options;
  }

  async modelReady(): Promise<boolean> {
    const ready = this.#options.ready?.() ?? true;
    if (ready instanceof ServingError) throw ready;
    return ready;
  }

  async describeModel(name: string): Promise<ModelDescription> {
    const { golden, maxBatch = 32, dtype, fingerprint = FINGERPRINT } = this.#options;
    const bytes = (input: string) => ({ name: input, datatype: 'BYTES', shape: [-1, 1] });
    const about = { name, versions: ['1'], platform: 'fake', maxBatchSize: maxBatch, parameters: { fingerprint } };
    if (golden.kind === 'reranker') {
      const outputs = [{ name: 'SCORE', datatype: 'FP32', shape: [-1, 1] }];
      return { ...about, inputs: [bytes('QUERY'), bytes('PASSAGE')], outputs };
    }
    const outputs = [{ name: 'EMBEDDING', datatype: dtype ?? golden.dtype, shape: [-1, golden.dims] }];
    return { ...about, inputs: [bytes('TEXT')], outputs };
  }

  async infer(request: InferRequest, options: CallOptions): Promise<InferResponse> {
    const { golden, answer, dtype, beforeCall } = this.#options;
    const rows = request.inputs[0]!.shape[0]!;
    this.calls.push(rows);
    await beforeCall?.(rows, options);
    const { data } = request.inputs.at(-1)!;
    const texts = decodeTexts(data.kind === 'inline' ? data.bytes : new Uint8Array(), 'ARGUMENT_INVALID', rows);
    const values = texts.flatMap((text) => {
      const given = answer?.(text, rows) ?? wantedOf(golden, text);
      if (given instanceof ServingError) throw given;
      return [...given];
    });
    const half = golden.kind === 'embedder' && (dtype ?? golden.dtype) === 'FP16';
    const floats = Float32Array.from(values);
    const bytes = half ? encodeFp16(floats) : new Uint8Array(floats.buffer);
    return {
      ...{ modelName: request.modelName, modelVersion: '1', id: '' },
      outputs: [
        {
          name: golden.kind === 'embedder' ? 'EMBEDDING' : 'SCORE',
          datatype: half ? 'FP16' : 'FP32',
          shape: [rows, values.length / rows],
          data: { kind: 'inline', bytes },
        },
      ],
    };
  }
}

function wantedOf(golden: Golden, text: string): readonly number[] {
  if (golden.kind === 'embedder') return [...golden.rows.find((row) => row.text === text)!.vector];
  return [golden.rows.find((row) => row.passage === text)!.score];
}
