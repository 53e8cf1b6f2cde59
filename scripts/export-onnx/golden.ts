/**
 * Golden vectors and scores of the unmodified model, for checks of whatever is made of it later. Each text is run alone: a
 * reference with padding in it would take a leak of the padding for right.
 */
import { basename } from 'node:path';
import type { Tokenizer } from '@huggingface/tokenizers';
import { ServingError } from '../../src/errors.ts';
import type { Golden } from '../../src/golden/golden-file.ts';
import { allFinite } from '../../src/golden/measures.ts';
import { defaultPairs, defaultTexts } from '../../src/golden/texts.ts';
import { packageVersion } from '../../src/package-version.ts';
import type { ModelConfig } from './model-config.ts';
import type { GateOptions, Head } from './parity/gate.ts';
import { referenceEmbeddings, referenceScores } from './parity/reference.ts';
import { sequenceOf } from './parity/sequences.ts';
import { TrialSession } from './parity/session.ts';

export type GoldenRequest = {
  readonly reference: GateOptions['reference'];
  readonly tokenizer: Tokenizer;
  readonly config: ModelConfig;
  readonly head: Head;
  /** Whether the exported model computes in FP16. */
  readonly half: unknown;
  readonly threads: number;
  /** As they are written into the exported model. */
  readonly properties: Readonly<Record<string, string>>;
};

export function goldenName(outputPath: string): string {
  return `${basename(outputPath)}.golden.json`;
}

export async function goldenOfReference(request: GoldenRequest, signal: AbortSignal): Promise<Golden> {
  const { reference, config, head, properties } = request;
  const session = await TrialSession.open({
    ...reference,
    padTokenId: config.padTokenId,
    threads: request.threads,
  });
  try {
    const about = {
      // Named by whoever puts the model into a repository, together with a tokenizer.
      fingerprint: null,
      producer: {
        ...{ kind: 'reference' as const, program: 'export-onnx', version: packageVersion() },
        ...{ model: properties.model ?? '', properties },
      },
      maxTokens: config.maxTokens,
      precision: request.half === undefined ? ('FP32' as const) : ('FP16' as const),
    };
    const ask = (label: string, text: string, pair?: string) => run(session, request, { label, text, pair }, signal);
    if (head.kind === 'score') {
      const rows = [];
      for (const pair of defaultPairs) {
        const { row, tokens } = await ask(pair.label, pair.query, pair.passage);
        rows.push({ ...pair, tokens, score: row[0]! });
      }
      return { ...about, kind: 'reranker', rows };
    }
    const rows = [];
    for (const text of defaultTexts) {
      const { row, tokens } = await ask(text.label, text.text);
      rows.push({ ...text, tokens, vector: Float32Array.from(row) });
    }
    const dtype = head.embedding.half ? 'FP16' : 'FP32';
    return { ...about, kind: 'embedder', dims: rows[0]!.vector.length, dtype, rows };
  } finally {
    await session.close();
  }
}

type Asked = { readonly label: string; readonly text: string; readonly pair: string | undefined };

async function run(
  session: TrialSession,
  { tokenizer, config, head }: GoldenRequest,
  { label, text, pair }: Asked,
  signal: AbortSignal,
): Promise<{ readonly row: readonly number[]; readonly tokens: number }> {
  signal.throwIfAborted();
  const { sequence, tokens } = sequenceOf(tokenizer, text, pair, config.maxTokens);
  const output = await session.run([sequence]);
  const [row = []] =
    head.kind === 'embedding'
      ? referenceEmbeddings(output, [sequence.ids.length], head.embedding)
      : referenceScores(output, 1, head.score);
  if (allFinite(row)) return { row, tokens };
  throw new ServingError('ENGINE_MODEL_INVALID', `the unmodified model gives a row that is not finite for "${label}"`);
}
