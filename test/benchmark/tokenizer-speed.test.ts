/**
 * Texts a second of a tokenizer graph beside Hugging Face's Rust library, one thread each, in turns of one process; and what one
 * very long text costs its batch. CPU time, raw, to docs/benchmarks/tokenizer-speed.json.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EXTENSIONS_VERSION, operatorLibrary } from '../../scripts/export-tokenizer/op-library.ts';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { tritonPython } from '../../scripts/stack/triton-install.ts';
import { miniLmTokenizer } from '../support/real-tokenizers.ts';
import { writeGraph } from '../support/tokenizer-parity.ts';

const ROUNDS = Number(process.env.TOKENIZER_ROUNDS ?? 15);
const ROWS = 256;
const SCRIPT = fileURLToPath(new URL('./tokenizer-speed.py', import.meta.url));

type Taken = Record<string, Record<'graph' | 'encode_batch' | 'encode_batch_fast', number[]>>;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-tokenizer-speed-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** English prose of this repository, cut into texts of one length. */
async function proseTexts(characters: number, count: number): Promise<string[]> {
  const pages = [
    'README.md',
    'ARCHITECTURE.md',
    'docs/models.md',
    'docs/decisions/retries.md',
    'docs/decisions/traces.md',
  ];
  const whole = (await Promise.all(pages.map((page) => readFile(committedPath(page), 'utf8')))).join('\n');
  const step = Math.floor((whole.length - characters) / count);
  return Array.from({ length: count }, (_, at) => whole.slice(at * step, at * step + characters));
}

/** Median of the ratios of each round, and the middle half of them. */
function ratios(above: readonly number[], below: readonly number[]) {
  const sorted = above.map((value, round) => value / below[round]!).toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(1_000 * sorted[Math.floor(share * (sorted.length - 1))]!) / 1_000;
  return { median: at(0.5), quarter: at(0.25), threeQuarters: at(0.75) };
}

const perSecond = (seconds: readonly number[]) =>
  Math.round(ROWS / seconds.toSorted((a, b) => a - b)[Math.floor(seconds.length / 2)]!);

it(
  'one thread of the graph, of the library, and a batch with one text of 10,000 characters',
  async () => {
    const tokenizer = await miniLmTokenizer();
    const graph = join(folder, 'graph.onnx');
    await writeGraph(graph, { modelType: 'embedding', maxTokens: 512, truncation: 'longest_first', tokenizer });
    const texts = {
      200: await proseTexts(200, ROWS),
      1000: await proseTexts(1_000, ROWS),
      2000: await proseTexts(2_000, ROWS),
    };
    const [long] = await proseTexts(10_000, 1);
    const batches = {
      '200 characters': texts[200],
      '1,000 characters': texts[1_000],
      '2,000 characters': texts[2_000],
      '1,000 characters, one of 10,000': [...texts[1_000].slice(1), long!],
      '200 characters, one of 10,000': [...texts[200].slice(1), long!],
    };
    const specFile = join(folder, 'spec.json');
    await writeFile(
      specFile,
      JSON.stringify({ library: await operatorLibrary(() => undefined), graph, tokenizer, rounds: ROUNDS, batches }),
    );
    const { stdout } = await promisify(execFile)(await tritonPython(), [SCRIPT, specFile], { maxBuffer: 2 ** 26 });
    const { cpuSeconds, onnxruntime } = JSON.parse(stdout) as { cpuSeconds: Taken; onnxruntime: string };

    const speed = Object.fromEntries(
      Object.entries(cpuSeconds).map(([name, { graph: ours, encode_batch: library, encode_batch_fast: fast }]) => [
        name,
        {
          graphPerSecond: perSecond(ours),
          libraryPerSecond: perSecond(library),
          libraryFastPerSecond: perSecond(fast),
          timesLibrary: ratios(library, ours),
          timesLibraryFast: ratios(fast, ours),
        },
      ]),
    );
    const longText = Object.fromEntries(
      ['1,000 characters', '200 characters'].map((name) => [
        name,
        ratios(cpuSeconds[`${name}, one of 10,000`]!.graph, cpuSeconds[name]!.graph),
      ]),
    );
    const versions = { onnxruntime, operators: `onnxruntime-extensions ${EXTENSIONS_VERSION}` };
    const result = { versions, rows: ROWS, rounds: ROUNDS, speed, batchWithLongTextTimesWithout: longText, cpuSeconds };
    await writeFile(
      join(committedPath('docs/benchmarks'), 'tokenizer-speed.json'),
      `${JSON.stringify(result, null, 1)}\n`,
    );
    for (const { timesLibrary } of Object.values(speed)) expect(timesLibrary.median).toBeGreaterThan(0);
    expect(longText['1,000 characters']!.median).toBeLessThan(2);
  },
  20 * 60_000,
);
