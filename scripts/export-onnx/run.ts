/** One export from the options to the files: fetch, export, report. */
import { rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { writeWhole } from '../onnx/model-file.ts';
import type { ExportOptions } from './command.ts';
import { type ExportReport, exportModel } from './export-model.ts';
import { goldenName } from './golden.ts';
import { fetchModel } from './hub/fetch-model.ts';
import { fromHub, isPath, type Surroundings } from './hub/from-hub.ts';
import { chooseFiles } from './model-files.ts';
import { listModelFolder } from './model-folder.ts';

/** Throws a ServingError; a model that the gate refused is a report that says so. */
export async function runExport(
  options: ExportOptions,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<ExportReport> {
  const say = (line: string) => void surroundings.stderr.write(`${line}\n`);
  const outputPath = resolve(options.outputPath);
  const source = await findModel(options, surroundings, signal);
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
  for (const path of [outputPath, `${outputPath}.data`, join(outputPath, '..', goldenName(outputPath))]) {
    if (report.files[basename(path)] === undefined) await rm(path, { force: true });
  }
  for (const line of summary(report, outputPath)) say(line);
  return report;
}

async function findModel(
  options: ExportOptions,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<{ model: string; revision?: string; folder: string; graph: string }> {
  const { model, revision, modelType: type, onnxFile } = options;
  if (await isPath(model)) {
    const folder = resolve(model);
    const { graph } = chooseFiles(await listModelFolder(folder), { model, type, wanted: onnxFile });
    return { model: basename(folder), folder, graph };
  }
  const request = { id: model, type, onnxFile, revision, cacheDir: surroundings.cacheDir };
  const { folder, graph, commit } = await fromHub(surroundings, request, (hub, onBytes) =>
    fetchModel(hub, request, onBytes, signal),
  );
  return { model, revision: commit, folder, graph };
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
