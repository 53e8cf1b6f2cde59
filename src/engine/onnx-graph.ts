/**
 * The graph of a sentence encoder on onnxruntime: token ids in, hidden states out. The only home of onnxruntime-node.
 */
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { ServingError } from '../errors.ts';

export type OnnxGraphOptions = {
  readonly modelPath: string;
  /** Threads of one run. */
  readonly threads: number;
};

const REQUIRED_INPUTS = ['input_ids', 'attention_mask'];
const KNOWN_INPUTS = [...REQUIRED_INPUTS, 'token_type_ids'];
const OUTPUT = 'last_hidden_state';

export class OnnxGraph {
  readonly output = OUTPUT;
  readonly #session: InferenceSession;

  private constructor(session: InferenceSession) {
    this.#session = session;
  }

  /** Throws ENGINE_MODEL_INVALID for a file that is no such graph. */
  static async open(options: OnnxGraphOptions): Promise<OnnxGraph> {
    return new OnnxGraph(await openSession(options));
  }

  /** float32 [sequences, longest, dims]; shorter sequences are padded and masked. */
  run(sequences: readonly (readonly number[])[], padId: number): Promise<Tensor> {
    return runGraph(this.#session, sequences, padId);
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

async function openSession(options: OnnxGraphOptions): Promise<InferenceSession> {
  let session: InferenceSession;
  try {
    session = await InferenceSession.create(options.modelPath, {
      executionProviders: ['cpu'],
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      // The arena keeps the largest shape ever seen of every kind; without it the speed is the same and memory flat.
      enableCpuMemArena: false,
      logSeverityLevel: 3,
    });
  } catch (error) {
    throw new ServingError('ENGINE_MODEL_INVALID', `onnxruntime cannot load ${options.modelPath}`, { cause: error });
  }
  const missing = REQUIRED_INPUTS.filter((name) => !session.inputNames.includes(name));
  const unknown = session.inputNames.filter((name) => !KNOWN_INPUTS.includes(name));
  if (missing.length === 0 && unknown.length === 0 && session.outputNames.includes(OUTPUT)) return session;
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `${options.modelPath} has inputs ${session.inputNames.join(', ')} and outputs ${session.outputNames.join(', ')}; ` +
      `expected inputs ${KNOWN_INPUTS.join(', ')} (the last is optional) and output ${OUTPUT}: export the model as a feature extractor`,
  );
}

async function runGraph(
  session: InferenceSession,
  sequences: readonly (readonly number[])[],
  padId: number,
): Promise<Tensor> {
  const width = Math.max(...sequences.map((sequence) => sequence.length));
  const dims = [sequences.length, width];
  const ids = new BigInt64Array(sequences.length * width).fill(BigInt(padId));
  const mask = new BigInt64Array(ids.length);
  sequences.forEach((sequence, row) => {
    sequence.forEach((id, at) => {
      ids[row * width + at] = BigInt(id);
      mask[row * width + at] = 1n;
    });
  });
  const feeds: Record<string, Tensor> = {
    input_ids: new Tensor('int64', ids, dims),
    attention_mask: new Tensor('int64', mask, dims),
  };
  // Each sequence is encoded by itself, so it is segment 0 throughout.
  if (session.inputNames.includes('token_type_ids')) {
    feeds.token_type_ids = new Tensor('int64', new BigInt64Array(ids.length), dims);
  }
  const outputs = await session.run(feeds, [OUTPUT]);
  return outputs[OUTPUT] as Tensor;
}
