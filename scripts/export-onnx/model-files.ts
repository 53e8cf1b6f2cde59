/** Which files of a model are needed, wherever they come from: a folder, or the list of files of a hub. Pure. */

import { ServingError } from '../../src/errors.ts';
import type { ModelType } from '../model-config/tensor-contract.ts';

/** Where exporters put the graph, the likeliest first. */
const GRAPHS = ['onnx/model.onnx', 'model.onnx'];
const REQUIRED = ['tokenizer.json', 'config.json'];
/** What sentence-transformers says about a model beside its weights. */
const OPTIONAL = ['tokenizer_config.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json'];

export type FileChoice = {
  readonly graph: string;
  /** The files to read beside the graph. */
  readonly others: readonly string[];
};

/** `model` and `type` are for the message. Throws ENGINE_MODEL_INVALID for a model without a graph or a tokenizer. */
export function chooseFiles(
  available: readonly string[],
  { model, type, wanted }: { readonly model: string; readonly type: ModelType; readonly wanted?: string | undefined },
): FileChoice {
  const graphs = available.filter((path) => path.endsWith('.onnx'));
  const graph =
    wanted === undefined ? GRAPHS.find((path) => graphs.includes(path)) : graphs.find((path) => path === wanted);
  if (graph === undefined) throw noGraph(graphs, { model, type, wanted });
  const missing = REQUIRED.filter((path) => !available.includes(path));
  if (missing.length > 0) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `${model} has no ${missing.join(' and no ')}: they must lie beside the ONNX file (a tokenizer in another form becomes ` +
        'tokenizer.json with AutoTokenizer.from_pretrained(…).save_pretrained(…))',
    );
  }
  return { graph, others: [...REQUIRED, ...OPTIONAL].filter((path) => available.includes(path)) };
}

function noGraph(
  graphs: readonly string[],
  { model, type, wanted }: { readonly model: string; readonly type: ModelType; readonly wanted?: string | undefined },
): ServingError {
  if (graphs.length > 0) {
    const absent = wanted === undefined ? `neither ${GRAPHS.join(' nor ')}` : `no ${wanted}`;
    return new ServingError(
      'ENGINE_MODEL_INVALID',
      `${model} has ${absent}, but ${graphs.join(', ')}: name one with --onnx-file`,
    );
  }
  const task = type === 'embedding' ? 'feature-extraction' : 'text-classification';
  return new ServingError(
    'ENGINE_MODEL_INVALID',
    `${model} has no ONNX file. Make one with optimum (pip install "optimum[onnxruntime]"): ` +
      `optimum-cli export onnx --model ${model} --task ${task} --opset 17 DIR; then give --model DIR`,
  );
}
