/** A model on onnxruntime, run on token sequences; rows come back as FP32, whatever the model puts out. */
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { ServingError } from '../../../src/errors.ts';
import { decodeFp16 } from '../../../src/kserve/fp16.ts';
import type { EncoderInput } from '../../model-config/tensor-contract.ts';
import type { ModelInput } from '../graph/inputs.ts';
import type { Sequence } from './sequences.ts';

export type Output = { readonly values: Float32Array; readonly dims: readonly number[] };

export type SessionOptions = {
  readonly path: string;
  readonly inputs: readonly Pick<ModelInput, 'name' | 'original' | 'type'>[];
  readonly output: string;
  readonly padTokenId: number;
  readonly threads: number;
};

const INT32_TYPE = 6;

export class TrialSession {
  readonly #session: InferenceSession;
  readonly #options: SessionOptions;

  private constructor(session: InferenceSession, options: SessionOptions) {
    this.#session = session;
    this.#options = options;
  }

  static async open(options: SessionOptions): Promise<TrialSession> {
    try {
      const session = await InferenceSession.create(options.path, {
        executionProviders: ['cpu'],
        intraOpNumThreads: options.threads,
        interOpNumThreads: 1,
        enableCpuMemArena: false,
        logSeverityLevel: 4,
      });
      return new TrialSession(session, options);
    } catch (cause) {
      throw new ServingError('ENGINE_MODEL_INVALID', `onnxruntime cannot load ${options.path}`, { cause });
    }
  }

  /** Shorter sequences are padded on the right. */
  async run(sequences: readonly Sequence[]): Promise<Output> {
    const { inputs, output } = this.#options;
    const width = Math.max(...sequences.map(({ ids }) => ids.length));
    const feeds = inputs.map(({ name, original, type }) => {
      const values = this.#values(name, sequences, width);
      const dims = [sequences.length, width];
      const tensor =
        type === INT32_TYPE
          ? new Tensor('int32', Int32Array.from(values), dims)
          : new Tensor('int64', BigInt64Array.from(values, BigInt), dims);
      return [original, tensor] as const;
    });
    const result = (await this.#session.run(Object.fromEntries(feeds), [output]))[output] as Tensor;
    return { values: asFloats(result), dims: result.dims };
  }

  close(): Promise<void> {
    return this.#session.release();
  }

  #values(name: EncoderInput, sequences: readonly Sequence[], width: number): number[] {
    const padding = name === 'input_ids' ? this.#options.padTokenId : 0;
    return sequences.flatMap(({ ids, types }) => {
      const row = name === 'input_ids' ? ids : name === 'token_type_ids' ? types : ids.map(() => 1);
      return [...row, ...Array<number>(width - row.length).fill(padding)];
    });
  }
}

function asFloats({ type, data }: Tensor): Float32Array {
  if (type === 'float32') return data as Float32Array;
  const { buffer, byteOffset, byteLength } = data as Uint16Array;
  return decodeFp16(new Uint8Array(buffer, byteOffset, byteLength));
}
