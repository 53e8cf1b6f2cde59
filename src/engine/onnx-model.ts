/**
 * OnnxModel: a sentence encoder on onnxruntime, texts in, normalised vectors out.
 *
 * `session.run` blocks the event loop of its thread while it computes, so the engine opens this inside a worker thread;
 * tests may open it in place. Several calls at once take turns micro-batch by micro-batch: a query waits for
 * one micro-batch of a running ingestion batch, not for all 256 texts of it.
 * On a CPU many small micro-batches are as fast as few large ones, and keep the memory flat.
 */
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServingError } from '../errors.ts';
import type { OnnxGraph } from './onnx-graph.ts';
import { meanPoolNormalized, planMicroBatches } from './pooling.ts';
import { TextTokenizer } from './tokenizer.ts';

export type OnnxModelOptions = {
  readonly modelPath: string;
  readonly tokenizerPath: string;
  readonly maxTokens: number;
  /** Threads of one session.run. */
  readonly threads: number;
};

const MICRO_BATCH = { maxRows: 16, maxPaddedTokens: 2048 };

export class OnnxModel {
  readonly #graph: OnnxGraph;
  readonly #tokenizer: TextTokenizer;
  readonly #maxTokens: number;
  readonly dims: number;
  #turn: Promise<void> = Promise.resolve();

  private constructor(graph: OnnxGraph, tokenizer: TextTokenizer, maxTokens: number, dims: number) {
    this.#graph = graph;
    this.#tokenizer = tokenizer;
    this.#maxTokens = maxTokens;
    this.dims = dims;
  }

  /** Throws ENGINE_MODEL_INVALID for a graph or a tokenizer that this engine cannot serve. */
  static async open(options: OnnxModelOptions): Promise<OnnxModel> {
    const tokenizer = new TextTokenizer(await readJson(options.tokenizerPath));
    const { OnnxGraph } = await loadGraph();
    const graph = await OnnxGraph.open(options);
    const hidden = await graph.run([tokenizer.encode('probe', options.maxTokens)], tokenizer.padId);
    const dims = hidden.dims.length === 3 ? Number(hidden.dims[2]) : 0;
    if (dims <= 0 || hidden.type !== 'float32') {
      throw new ServingError(
        'ENGINE_MODEL_INVALID',
        `output ${graph.output} is ${hidden.type} of rank ${hidden.dims.length}, expected float32 [batch, sequence, dims]: export the model without pooling`,
      );
    }
    return new OnnxModel(graph, tokenizer, options.maxTokens, dims);
  }

  /** [texts, dims], L2-normalised. An empty text is two special tokens and has a vector like any other. */
  async embed(texts: readonly string[]): Promise<Float32Array> {
    return this.#vectors(texts.map((text) => this.#tokenizer.encode(text, this.#maxTokens)));
  }

  /**
   * One score a pair: the cosine of its two sides after they were cut together as a pair. A stand-in for a
   * cross-encoder, with the tokenization of one.
   */
  async scorePairs(queries: readonly string[], passages: readonly string[]): Promise<Float32Array> {
    const sequences: number[][] = [];
    const known = new Map<string, number>();
    const indexOf = (content: readonly number[]) => {
      const key = content.join();
      let index = known.get(key);
      if (index === undefined) {
        index = sequences.push(this.#tokenizer.wrap(content)) - 1;
        known.set(key, index);
      }
      return index;
    };
    const pairs = queries.map((query, i) => {
      const { a, b } = this.#tokenizer.encodePair(query, passages[i]!, this.#maxTokens);
      return [indexOf(a), indexOf(b)] as const;
    });
    const vectors = await this.#vectors(sequences);
    return Float32Array.from(pairs, ([a, b]) => this.#dot(vectors, a, b));
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#graph.release();
  }

  async #vectors(sequences: readonly (readonly number[])[]): Promise<Float32Array> {
    const lengths = sequences.map((sequence) => sequence.length);
    const vectors = new Float32Array(sequences.length * this.dims);
    for (const group of planMicroBatches(lengths, MICRO_BATCH)) {
      const pooled = await this.#inTurn(async () => {
        const hidden = await this.#graph.run(
          group.map((index) => sequences[index]!),
          this.#tokenizer.padId,
        );
        return meanPoolNormalized(
          hidden.data as Float32Array,
          group.map((index) => lengths[index]!),
          this.dims,
        );
      });
      group.forEach((index, row) => {
        vectors.set(pooled.subarray(row * this.dims, (row + 1) * this.dims), index * this.dims);
      });
    }
    return vectors;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    let done = (): void => {};
    this.#turn = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      // Lets messages in that arrived while the thread was blocked, so that they can queue for their own turn.
      await nextTurn();
      return await work();
    } finally {
      done();
    }
  }

  #dot(vectors: Float32Array, a: number, b: number): number {
    let sum = 0;
    for (let d = 0; d < this.dims; d++) sum += vectors[a * this.dims + d]! * vectors[b * this.dims + d]!;
    return sum;
  }
}

/** Loaded when a model is opened: the package is optional, and its native library is large. */
async function loadGraph(): Promise<typeof import('./onnx-graph.ts')> {
  try {
    return await import('./onnx-graph.ts');
  } catch (cause) {
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `the embedded engine needs the package onnxruntime-node with a native build for ${process.platform}-${process.arch}: run npm install with ONNXRUNTIME_NODE_INSTALL=skip, or serve the model with Triton`,
      { cause },
    );
  }
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new ServingError('ENGINE_MODEL_INVALID', `${path} is not readable JSON`, { cause: error });
  }
}
