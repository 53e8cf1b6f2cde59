/** Whether an ensemble and its models fit: every tensor has one source, its type and its dims, and batches are large enough. */
import type { ModelConfig } from '../../../src/kserve/gen/model_config_pb.ts';
import { typeName } from '../../model-config/data-types.ts';

type Tensor = { readonly name: string; readonly dataType: number; readonly dims: readonly bigint[] };
/** A tensor of the ensemble, and who writes it. */
type Source = Tensor & { readonly from: string };

export function ensembleProblems(ensemble: ModelConfig, models: ReadonlyMap<string, ModelConfig>): string[] {
  if (ensemble.schedulingChoice.case !== 'ensembleScheduling') return [];
  const { step: steps } = ensemble.schedulingChoice.value;
  const problems: string[] = [];
  const sources = new Map<string, Source>(
    ensemble.input.map((input) => [input.name, { ...input, from: 'the ensemble' }]),
  );
  const read = new Set<string>();
  // First what is written, then what is read: the order of the steps means nothing to Triton.
  for (const { modelName, outputMap } of steps) {
    const model = models.get(modelName);
    if (model === undefined) {
      problems.push(`model ${modelName} is not in the repository`);
      continue;
    }
    if (model.maxBatchSize < ensemble.maxBatchSize) {
      problems.push(`max_batch_size ${ensemble.maxBatchSize} is more than the ${model.maxBatchSize} of ${modelName}`);
    }
    for (const [output, tensor] of Object.entries(outputMap)) {
      const declared = model.output.find(({ name }) => name === output);
      const before = sources.get(tensor);
      if (declared === undefined) problems.push(`${output} is no output of ${modelName}`);
      else if (before !== undefined) problems.push(`tensor ${tensor} has two sources: ${before.from} and ${modelName}`);
      else sources.set(tensor, { ...declared, from: modelName });
    }
  }
  for (const { modelName, inputMap } of steps) {
    const model = models.get(modelName);
    if (model === undefined) continue;
    for (const input of model.input) {
      const tensor = inputMap[input.name];
      if (tensor !== undefined)
        problems.push(...meeting(tensor, sources.get(tensor), `input ${input.name} of ${modelName}`, input));
      else if (!input.optional) problems.push(`input ${input.name} of ${modelName} is not mapped`);
    }
    for (const [input, tensor] of Object.entries(inputMap)) {
      read.add(tensor);
      if (!model.input.some(({ name }) => name === input)) problems.push(`${input} is no input of ${modelName}`);
    }
  }
  for (const output of ensemble.output) {
    read.add(output.name);
    problems.push(...meeting(output.name, sources.get(output.name), 'the output of the ensemble', output));
  }
  const unread = [...sources].filter(([tensor]) => !read.has(tensor));
  problems.push(...unread.map(([tensor, { from }]) => `tensor ${tensor} of ${from} is not read by any model`));
  return problems;
}

function meeting(tensor: string, source: Source | undefined, what: string, wanted: Tensor): string[] {
  if (source === undefined) return [`${what}: nothing writes tensor ${tensor}`];
  const problems: string[] = [];
  if (source.dataType !== wanted.dataType) {
    problems.push(`${what} is ${typeName(wanted.dataType)}, and ${source.from} gives ${typeName(source.dataType)}`);
  }
  if (!sameDims(source.dims, wanted.dims)) {
    problems.push(`${what} has dims [${wanted.dims.join(', ')}], and ${source.from} gives [${source.dims.join(', ')}]`);
  }
  return problems;
}

/** -1 meets every size. */
function sameDims(left: readonly bigint[], right: readonly bigint[]): boolean {
  return (
    left.length === right.length &&
    left.every((size, index) => size === right[index] || size === -1n || right[index] === -1n)
  );
}
