/** A tokenizer graph run by the onnxruntime of Java, with the operator library registered: no Python in that process. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { operatorLibrary } from '../../scripts/export-tokenizer/op-library.ts';
import { findJava } from '../../scripts/stack/kafka-java.ts';
import { jarFiles } from '../../scripts/stack/maven.ts';

const PROGRAM = fileURLToPath(new URL('./java/TokenizerGraph.java', import.meta.url));
const JAR = 'onnxruntime.jar';

/** Older than what Python has here, to see both. */
const JAVA_RUNTIME = {
  artifact: 'com.microsoft.onnxruntime:onnxruntime:1.20.0',
  what: 'onnxruntime of Java 1.20.0',
  files: [{ name: JAR, sha256: 'c46608681692b3693914defb42fa3119ad7cb6146870581ece247e0ed5793fe8' }],
} as const;

/** One row of the answer, with padding. */
export type Tokens = { readonly ids: number[]; readonly mask: number[]; readonly types: number[] };

/** The class path with Java's onnxruntime, fetched when missing. */
export async function javaRuntime(): Promise<string> {
  return join(await jarFiles(JAVA_RUNTIME, () => undefined), JAR);
}

/** Batches of rows, a row with one text for each of `columns`. */
export async function runByJava(
  graph: string,
  columns: readonly string[],
  batches: readonly (readonly (readonly string[])[])[],
): Promise<Tokens[][]> {
  const [{ executable }, jar, library] = await Promise.all([
    findJava(),
    javaRuntime(),
    operatorLibrary(() => undefined),
  ]);
  // onnxruntime unpacks its libraries into Java's folder for temporary files and leaves them there.
  const folder = await mkdtemp(join(tmpdir(), 'rag-java-'));
  try {
    // Without a heap of its own size the virtual machine takes what it finds.
    const options = ['-Xmx512m', `-Djava.io.tmpdir=${folder}`, '-cp', jar];
    const child = spawn(executable, [...options, PROGRAM, library, graph, ...columns], { stdio: 'pipe' });
    child.stdin.on('error', () => undefined).end(Buffer.concat(batches.map((rows) => asBytes(rows, columns.length))));
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [answer, complaint, code] = await Promise.all([buffer(child.stdout), text(child.stderr), closed]);
    if (code !== 0) throw new Error(`TokenizerGraph.java ended with ${code}: ${complaint}`);
    return asTokens(answer, batches);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function asBytes(rows: readonly (readonly string[])[], columns: number): Buffer {
  const parts = [int32(rows.length)];
  for (let column = 0; column < columns; column++) {
    for (const row of rows) {
      const bytes = Buffer.from(row[column]!);
      parts.push(int32(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function asTokens(answer: Buffer, batches: readonly (readonly unknown[])[]): Tokens[][] {
  let at = 0;
  const next = () => answer.readInt32BE(4 * at++);
  return batches.map((rows) => {
    const width = next();
    const matrix = () => rows.map(() => Array.from({ length: width }, next));
    const [ids, mask, types] = [matrix(), matrix(), matrix()];
    return rows.map((_, row) => ({ ids: ids[row]!, mask: mask[row]!, types: types[row]! }));
  });
}
