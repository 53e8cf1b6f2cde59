/** One export from the options to the files: fetch, export, report. */
import { rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { writeWhole } from '../onnx/model-file.ts';
import { type ExportOptions, isFolder } from './command.ts';
import { type ExportReport, exportModel } from './export-model.ts';
import { fetchModel } from './hub/fetch-model.ts';
import { DEFAULT_RETRY, type RetryPolicy } from './hub/retry.ts';
import { chooseFiles } from './model-files.ts';
import { listModelFolder } from './model-folder.ts';
import { downloadProgress } from './progress.ts';

export type Surroundings = {
  readonly env: NodeJS.ProcessEnv;
  readonly cacheDir: string;
  readonly stderr: NodeJS.WriteStream;
  readonly retry?: RetryPolicy;
};

const HUB = 'https://huggingface.co';

/** Throws a ServingError; a model that the gate refused is a report that says so. */
export async function runExport(
  options: ExportOptions,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<ExportReport> {
  const say = (line: string) => void surroundings.stderr.write(`${line}\n`);
  const outputPath = resolve(options.outputPath);
  const source = await findModel(options, surroundings, say, signal);
  const report = await exportModel(
    {
      type: options.modelType,
      ...source,
      outputPath,
      head: { ...options, fp16: options.fp16 === true },
      threads: options.threads,
    },
    say,
    signal,
  );
  await writeWhole(`${outputPath}.parity.json`, `${JSON.stringify(report, undefined, 2)}\n`);
  // What an earlier export left under these names is another model than the one the report is about.
  for (const path of [outputPath, `${outputPath}.data`]) {
    if (report.files[basename(path)] === undefined) await rm(path, { force: true });
  }
  for (const line of summary(report, outputPath)) say(line);
  return report;
}

async function findModel(
  options: ExportOptions,
  { env, cacheDir, stderr, retry }: Surroundings,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<{ model: string; revision?: string; folder: string; graph: string }> {
  if (await isFolder(options.model)) {
    const folder = resolve(options.model);
    const about = { model: options.model, type: options.modelType, wanted: options.onnxFile };
    const { graph } = chooseFiles(await listModelFolder(folder), about);
    return { model: basename(folder), folder, graph };
  }
  const hub = {
    endpoint: endpointOf(env),
    token: env.HF_TOKEN || undefined,
    retry: retry ?? DEFAULT_RETRY,
    onProgress: say,
  };
  const request = { id: options.model, type: options.modelType, onnxFile: options.onnxFile };
  const progress = downloadProgress(stderr);
  try {
    const fetched = await fetchModel(
      hub,
      { ...request, revision: options.revision, cacheDir },
      progress.update,
      signal,
    );
    const { folder, graph, commit } = fetched;
    if (options.revision !== commit)
      say(`${options.model} ${options.revision} is ${commit}: --revision ${commit} pins it`);
    return { model: options.model, revision: commit, folder, graph };
  } finally {
    progress.stop();
  }
}

function endpointOf({ HF_ENDPOINT }: NodeJS.ProcessEnv): string {
  const text = HF_ENDPOINT || HUB;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return text.replace(/\/+$/, '');
  }
  throw new ServingError(
    'CONFIG_INVALID',
    'HF_ENDPOINT is no http or https address without credentials (a token goes into HF_TOKEN)',
  );
}

function summary({ accepted, gate, files, half }: ExportReport, outputPath: string): string[] {
  const faults = gate.cases.flatMap(({ name, faults }) => faults.map((fault) => `  ${name}: ${fault}`));
  const beyond = gate.overflows
    .slice(0, 5)
    .map(({ value, magnitude }) => `  ${value} reaches ${magnitude.toPrecision(4)}, over FP16's 65504`);
  if (!accepted) {
    return [
      'refused: the exported model does not say what the unmodified one says',
      ...faults,
      ...beyond,
      `nothing was written but ${outputPath}.parity.json`,
      ...(half === undefined ? [] : ['without --fp16 the model keeps its precision']),
    ];
  }
  const cosines = gate.cases.flatMap(({ cosine }) => (cosine === undefined ? [] : [cosine]));
  const worst = cosines.length === 0 ? '' : `, worst cosine ${Math.min(...cosines).toFixed(7)}`;
  const folder = join(outputPath, '..');
  return [
    `parity: ${gate.cases.length} cases passed${worst}`,
    ...Object.entries(files).map(([name, sha256]) => `${join(folder, name)} (SHA-256 ${sha256})`),
  ];
}
