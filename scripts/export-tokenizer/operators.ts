/**
 * The operators that the graphs are made of, beside the standard ones, and the versions that they ask of onnxruntime.
 *
 * `ai.onnx.contrib` is onnxruntime-extensions, a library that a server has to load; `com.microsoft` is in onnxruntime itself.
 * Operator set 20 needs onnxruntime 1.17.
 */
import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { int64Tensor, stringTensor } from '../onnx/tensors.ts';

export const EXTENSIONS = 'ai.onnx.contrib';
export const MICROSOFT = 'com.microsoft';
export const ML = 'ai.onnx.ml';

export const MODEL_VERSIONS = {
  irVersion: 9,
  opsets: { '': 20, [ML]: 4, [EXTENSIONS]: 1, [MICROSOFT]: 1 },
} as const;

/** Constants that several parts of a graph use; adds each once. */
export function addSharedConstants(graph: GraphBuilder): void {
  for (const [name, value] of Object.entries({ zero: 0, one: 1, two: 2 }))
    graph.constant(int64Tensor(name, [value], []));
  for (const [name, value] of Object.entries({ zero_1d: 0, one_1d: 1, all: -1 })) {
    graph.constant(int64Tensor(name, [value], [1]));
  }
  graph.constant(stringTensor('nothing', [''], [1]));
}

/** Replaces what a regular expression (RE2) finds, everywhere in each text. */
export function replaceAll(graph: GraphBuilder, from: string, to: string, pattern: string, by: string): string {
  graph.constant(stringTensor(`${to}_pattern`, [pattern], [1]));
  graph.constant(stringTensor(`${to}_by`, [by], [1]));
  return graph.node('StringRegexReplace', [from, `${to}_pattern`, `${to}_by`], [to], { domain: EXTENSIONS });
}
