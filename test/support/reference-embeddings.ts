/** Vectors of a model, by default the default one, computed without this project: by onnxruntime and tokenizers of Python. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tritonPython } from '../../scripts/stack/triton-install.ts';
import { resolveModel } from '../../src/engine/model-source.ts';

const SCRIPT = fileURLToPath(new URL('./reference-embeddings.py', import.meta.url));

/** One unit vector a text, each text computed alone and in FP32. @param cacheDir where the engine keeps the model */
export async function referenceEmbeddings(texts: readonly string[], cacheDir: string): Promise<number[][]> {
  await resolveModel({ cacheDir });
  return referenceEmbeddingsOf(join(cacheDir, 'models', 'all-MiniLM-L6-v2-int8'), texts);
}

/** @param folder holds model.onnx and tokenizer.json */
export async function referenceEmbeddingsOf(folder: string, texts: readonly string[]): Promise<number[][]> {
  const python = await tritonPython();
  return new Promise((resolve, reject) => {
    const child = execFile(python, [SCRIPT, folder], { maxBuffer: 64 * 2 ** 20 }, (error, stdout) =>
      error === null ? resolve(JSON.parse(stdout) as number[][]) : reject(error),
    );
    child.stdin!.end(JSON.stringify(texts));
  });
}

export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    aa += a[i]! ** 2;
    bb += b[i]! ** 2;
  }
  return dot / Math.sqrt(aa * bb);
}
