/**
 * The same graph and the same operator library outside Python, in the onnxruntime of Java, give the ids of Hugging Face's
 * Rust library. Java hands NUL and characters beyond the first plane to onnxruntime in an encoding of its own, which is no
 * UTF-8: texts with those stay out here. Triton passes on the bytes of a request.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXTS } from '../../../scripts/model-config/tensor-contract.ts';
import { javaRuntime, runByJava, type Tokens } from '../../support/java-graph.ts';
import { type Encoding, libraryIds } from '../../support/library-ids.ts';
import { miniLmTokenizer } from '../../support/real-tokenizers.ts';
import { inBatches, writeGraph } from '../../support/tokenizer-parity.ts';
import { curatedTexts } from './curated-texts.ts';

const texts = curatedTexts.filter((text) => !/[\0\u{10000}-\u{10ffff}]/u.test(text));

describe('a graph run by Java', () => {
  let folder: string;
  let tokenizer: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-tokenizer-java-'));
    tokenizer = await miniLmTokenizer();
    await javaRuntime();
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  function padded({ ids, types }: Encoding, width: number): Tokens {
    const blank = new Array(width - ids.length).fill(0);
    return { ids: [...ids, ...blank], mask: [...ids.map(() => 1), ...blank], types: [...types, ...blank] };
  }

  const rowsOf = {
    embedding: texts.map((text) => [text]),
    reranker: texts.map((query, at) => [query, texts[(at * 7 + 3) % texts.length]!]),
  };
  it.each(['embedding', 'reranker'] as const)('has the ids of the library: %s', async (modelType) => {
    const graph = join(folder, `${modelType}.onnx`);
    await writeGraph(graph, { modelType, maxTokens: 512, truncation: 'longest_first', tokenizer });
    const rows = rowsOf[modelType];
    const batches = inBatches(rows, 20, 64);
    const given = (await runByJava(graph, TEXTS[modelType], batches)).flat();
    const wanted = await libraryIds(tokenizer, 512, batches.flat());
    expect(rows.length).toBeGreaterThan(1_500);
    const different = given.filter((row, at) => {
      const is = padded(wanted[at]!, row.ids.length);
      return (['ids', 'mask', 'types'] as const).some((part) => row[part].join() !== is[part].join());
    });
    expect({ compared: given.length, different }).toEqual({ compared: wanted.length, different: [] });
  });
});
