/**
 * The export: model file in, pooled graph out, and the proof that both say the same.
 *
 * All is written into a folder beside the target and moved there when the gate has passed, so a model that drifted or
 * overflows is never where a server could load it.
 */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { FP16_BOUNDS, FP32_BOUNDS } from '../../src/golden/bounds.ts';
import { formatGolden } from '../../src/golden/golden-file.ts';
import { sha256OfFile } from '../../src/sha256-file.ts';
import type { ModelType } from '../model-config/tensor-contract.ts';
import { type ModelProto, StringStringEntryProtoSchema } from '../onnx/gen/onnx_pb.ts';
import { LARGEST_FILE_BYTES, readWholeModel, writeWholeModel } from './external-data.ts';
import { goldenName, goldenOfReference } from './golden.ts';
import { embeddingTables } from './graph/embedding-tables.ts';
import { matchInputs, renameInputs } from './graph/inputs.ts';
import { liftIrVersion, opsetOf } from './graph/opset.ts';
import { hiddenStates, logits } from './graph/outputs.ts';
import { appendEmbedding, appendScore } from './graph/pooling.ts';
import { prune } from './graph/prune.ts';
import { inferTypes } from './graph/value-types.ts';
import { convertToHalf, type HalfReport } from './half/convert.ts';
import { chooseEmbedding, chooseScore, type EmbeddingOptions, type ScoreOptions } from './head-choice.ts';
import { readModelConfig } from './model-config.ts';
import { type GateReport, type Head, runGate } from './parity/gate.ts';
import { makeRangeProbe } from './parity/range.ts';
import { openTokenizer, trialBatches } from './parity/sequences.ts';

export type ExportRequest = {
  readonly type: ModelType;
  /** As the user named it. */
  readonly model: string;
  /** Commit of the hub; undefined for a folder. */
  readonly revision?: string | undefined;
  readonly folder: string;
  /** The ONNX file, relative to the folder. */
  readonly graph: string;
  readonly outputPath: string;
  readonly head: EmbeddingOptions & ScoreOptions;
  readonly threads: number;
  /** Above it the weights go into a file of their own. */
  readonly largestFileBytes?: number;
};

export type ExportReport = {
  readonly accepted: boolean;
  /** Also written into the model, as its metadata. */
  readonly properties: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly half?: Omit<HalfReport, 'halfValues'>;
  readonly gate: GateReport;
  /** Names and SHA-256 of what was written, none when it was refused. */
  readonly files: Readonly<Record<string, string>>;
};

/** Throws ENGINE_MODEL_INVALID or ARGUMENT_INVALID; a model that fails the gate is a report that says so. */
export async function exportModel(
  request: ExportRequest,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<ExportReport> {
  const { folder, outputPath } = request;
  const source = join(folder, request.graph);
  const model = await readWholeModel(source);
  const prepared = await prepare(model, request, source);
  for (const warning of prepared.warnings) onProgress(`warning: ${warning}`);
  await mkdir(dirname(outputPath), { recursive: true });
  const work = await mkdtemp(join(dirname(outputPath), `.${basename(outputPath)}.tmp-`));
  try {
    const written = await writeWholeModel(join(work, basename(outputPath)), model, limit(request));
    const range = await writeRange(request, source, work, prepared.half);
    const tokenizer = await openTokenizer(folder);
    const reference = { path: source, inputs: prepared.inputs, output: prepared.output };
    const gate = await runGate(
      {
        reference,
        candidatePath: join(work, basename(outputPath)),
        range,
        head: prepared.head,
        batches: trialBatches(tokenizer, { type: request.type, maxTokens: prepared.config.maxTokens }),
        bounds: request.head.fp16 ? FP16_BOUNDS : FP32_BOUNDS,
        padTokenId: prepared.config.padTokenId,
        threads: request.threads,
        onProgress,
      },
      signal,
    );
    const { half, properties, warnings } = prepared;
    let files: Record<string, string> = {};
    if (gate.accepted) {
      onProgress('golden vectors: unmodified model');
      const golden = await goldenOfReference({ ...request, ...prepared, reference, tokenizer }, signal);
      await writeFile(join(work, goldenName(outputPath)), formatGolden(golden));
      files = await moveAll(work, dirname(outputPath), [goldenName(outputPath), ...written]);
    }
    const { halfValues: _values, ...told } = half ?? {
      halfValues: [],
      halfNodes: 0,
      float32Nodes: {},
      masksReplaced: 0,
    };
    return { accepted: gate.accepted, properties, warnings, ...(half !== undefined && { half: told }), gate, files };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Changes the model into the one that is written. */
async function prepare(model: ModelProto, request: ExportRequest, source: string) {
  const graph = model.graph!;
  const opset = opsetOf(model, source);
  liftIrVersion(model);
  const config = await readModelConfig(request.folder);
  const inputs = matchInputs(graph);
  const types = await inferTypes(model);
  const output = request.type === 'embedding' ? hiddenStates(graph, types, config.hiddenSize) : logits(graph, types);
  graph.output = graph.output.filter(({ name }) => name === output.name);
  prune(graph);
  renameInputs(graph, inputs);
  const { positions } = embeddingTables(graph, types);
  const half = request.head.fp16 ? await convertToHalf(model, opset) : undefined;
  const { head, warnings } = appendHead(model, request, { config, output, opset });
  const properties = await describe(request, { head, width: output.width, opset, source, positions });
  for (const [key, value] of Object.entries(properties)) {
    model.metadataProps.push(create(StringStringEntryProtoSchema, { key: `rag_serving.${key}`, value }));
  }
  return { config, inputs, output: output.name, half, head, warnings, properties };
}

type Known = {
  readonly config: Awaited<ReturnType<typeof readModelConfig>>;
  readonly output: ReturnType<typeof logits>;
  readonly opset: number;
};

function appendHead(
  model: ModelProto,
  request: ExportRequest,
  { config, output, opset }: Known,
): { readonly head: Head; readonly warnings: readonly string[] } {
  if (request.type === 'embedding') {
    const { head, warnings } = chooseEmbedding(request.head, config, output.width);
    appendEmbedding(model.graph!, output, opset, head);
    return { head: { kind: 'embedding', embedding: head }, warnings };
  }
  const { head, warnings } = chooseScore(request.head, config, output.width);
  appendScore(model.graph!, output, head);
  return { head: { kind: 'score', score: head }, warnings };
}

async function describe(
  request: ExportRequest,
  {
    head,
    width,
    opset,
    source,
    positions,
  }: Pick<Known, 'opset'> & {
    readonly head: Head;
    readonly width: number;
    readonly source: string;
    readonly positions: number | undefined;
  },
): Promise<Record<string, string>> {
  const sources = {
    model: request.model,
    ...(request.revision !== undefined && { revision: request.revision }),
    source_file: request.graph,
    source_sha256: await sha256OfFile(source),
    tokenizer_sha256: await sha256OfFile(join(request.folder, 'tokenizer.json')),
    opset: String(opset),
    ...(positions !== undefined && { positions: String(positions) }),
    compute: request.head.fp16 ? 'fp16' : 'as the source',
  };
  if (head.kind === 'score') {
    return { ...sources, label: String(head.score.label), activation: head.score.sigmoid ? 'sigmoid' : 'none' };
  }
  const { pooling, normalize, matryoshka, half } = head.embedding;
  const dims = String(matryoshka ?? width);
  return { ...sources, pooling, normalize: String(normalize), dims, dtype: half ? 'FP16' : 'FP32' };
}

async function writeRange(
  request: ExportRequest,
  source: string,
  work: string,
  half: HalfReport | undefined,
): Promise<{ path: string; values: readonly string[] } | undefined> {
  if (half === undefined || half.halfValues.length === 0) return undefined;
  const model = await readWholeModel(source);
  liftIrVersion(model);
  makeRangeProbe(model, half.halfValues);
  const path = join(work, 'range.onnx');
  await writeWholeModel(path, model, limit(request));
  return { path, values: half.halfValues };
}

function limit({ largestFileBytes }: ExportRequest): number {
  return largestFileBytes ?? LARGEST_FILE_BYTES;
}

/** Weights first: a model file that is there can be loaded. */
async function moveAll(from: string, to: string, names: readonly string[]): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const name of names) {
    files[name] = await sha256OfFile(join(from, name));
    await rename(join(from, name), join(to, name));
  }
  return files;
}
