/** The tokenizer of a repository: a folder that export-tokenizer wrote, or a tokenizer.json that is exported now. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ServingError } from '../../src/errors.ts';
import { exportTokenizer } from '../export-tokenizer/model-folder.ts';
import { operatorLibrary } from '../export-tokenizer/op-library.ts';
import { type Truncation, truncations } from '../export-tokenizer/row-nodes.ts';
import { readTokenizerFile } from '../export-tokenizer/tokenizer-source.ts';
import { modelTypes } from '../model-config/tensor-contract.ts';
import { type TokenizerBackend, tokenizerBackends } from '../model-config/tokenizer-config.ts';
import type { Pool } from '../pools.ts';
import type { Report } from '../stack/cache.ts';

const manifest = z.looseObject({
  backend: z.enum(tokenizerBackends),
  model_type: z.enum(modelTypes),
  tokenizer_sha256: z.string(),
  max_tokens: z.number().int(),
  truncation: z.enum(truncations),
  files: z.record(z.string(), z.string()),
});

export type ExportedTokenizer = z.infer<typeof manifest>;

export const TOKENIZER_MANIFEST = 'manifest.json';

export type TokenizerWanted = {
  readonly pool: Pool;
  readonly maxTokens: number;
  readonly backend: TokenizerBackend;
  readonly truncation: Truncation;
};

/**
 * Lays an exported tokenizer at `target`, or exports one there; what it is is in the answer.
 * Throws ARGUMENT_INVALID for one that was exported for something else, ENGINE_MODEL_INVALID for one that cannot be exported.
 */
export async function exportedTokenizer(
  source: string,
  target: string,
  wanted: TokenizerWanted,
  report: Report,
): Promise<{ readonly folder: string; readonly exported: ExportedTokenizer }> {
  const { pool, maxTokens, backend, truncation } = wanted;
  const found = await readManifest(source);
  if (found !== undefined) {
    if (found.model_type !== pool.modelType || found.max_tokens !== maxTokens) {
      const message = `${source} was exported as ${found.model_type} of ${found.max_tokens} tokens, and ${pool.tokenizer} is ${pool.modelType} of ${maxTokens}`;
      throw new ServingError('ARGUMENT_INVALID', `${message}: export it anew, or give --max-tokens`);
    }
    return { folder: source, exported: found };
  }
  const options = { modelType: pool.modelType, maxBatch: pool.maxBatch, maxTokens, backend, truncation };
  const file = { content: await readTokenizerFile(source, '--tokenizer-dir') };
  await exportTokenizer({ ...options, source: file, outputDir: target, library: operatorLibrary }, report);
  return { folder: target, exported: (await readManifest(target))! };
}

async function readManifest(folder: string): Promise<ExportedTokenizer | undefined> {
  try {
    return manifest.parse(JSON.parse(await readFile(join(folder, TOKENIZER_MANIFEST), 'utf8')));
  } catch {
    return undefined; // a folder of anything else: a model's, with its tokenizer.json
  }
}
