/** Decisions of the export: which files, which head, and when a model has passed. */
import { describe, expect, it } from 'vitest';
import { chooseEmbedding, chooseScore } from '../../../../scripts/export-onnx/head-choice.ts';
import type { ModelConfig } from '../../../../scripts/export-onnx/model-config.ts';
import { chooseFiles } from '../../../../scripts/export-onnx/model-files.ts';
import { overflows, peaksOf } from '../../../../scripts/export-onnx/parity/range.ts';
import { compareScores, compareVectors } from '../../../../scripts/export-onnx/parity/verdict.ts';
import { FP16_BOUNDS, FP32_BOUNDS } from '../../../../src/golden/bounds.ts';

const CONFIG: ModelConfig = { maxTokens: 512, padTokenId: 0, labels: [] };

describe('files of a model', () => {
  const about = { model: 'owner/name', type: 'reranker' } as const;
  const rest = ['config.json', 'tokenizer.json', 'modules.json', 'pytorch_model.bin'];
  it('takes the graph in onnx/ before the one beside it, and only what is read', () => {
    const choice = chooseFiles(['model.onnx', 'onnx/model.onnx', ...rest], about);
    expect(choice).toEqual({ graph: 'onnx/model.onnx', others: ['tokenizer.json', 'config.json', 'modules.json'] });
  });

  it('points to the exporter where there is no graph', () => {
    expect(() => chooseFiles(rest, about)).toThrow(
      /no ONNX file.*optimum-cli export onnx --model owner\/name --task text-classification --opset 17 DIR/,
    );
  });

  it('lists the graphs that are there under other names', () => {
    expect(() => chooseFiles(['onnx/model_quantized.onnx', ...rest], about)).toThrow(
      /neither onnx\/model.onnx nor model.onnx, but onnx\/model_quantized.onnx: name one with --onnx-file/,
    );
    expect(() => chooseFiles(['model.onnx', ...rest], { ...about, wanted: 'x.onnx' })).toThrow(
      /no x.onnx, but model.onnx/,
    );
  });

  it('names the tokenizer that is missing', () => {
    expect(() => chooseFiles(['model.onnx', 'config.json'], about)).toThrow(/has no tokenizer.json/);
  });
});

describe('head of an embedder', () => {
  const trained = { ...CONFIG, poolingModes: ['cls_token'], modules: ['Transformer', 'Pooling', 'Normalize'] };
  it('is what the model was trained with', () => {
    const choice = chooseEmbedding({ fp16: true }, trained, 384);
    expect(choice).toEqual({ head: { pooling: 'cls', normalize: true, half: true }, warnings: [] });
  });

  it('is mean and normalised where nothing is said', () => {
    const choice = chooseEmbedding({ fp16: false }, CONFIG, 384);
    expect(choice).toEqual({ head: { pooling: 'mean', normalize: true, half: false }, warnings: [] });
  });

  it('warns of an option against the model', () => {
    expect(chooseEmbedding({ fp16: false, pooling: 'mean' }, trained, 384).warnings).toEqual([
      '--pooling mean, although the model was trained with cls_token',
    ]);
  });

  it('refuses a layer that the graph lacks, and pooling that is not built', () => {
    const dense = { ...CONFIG, modules: ['Transformer', 'Pooling', 'Dense'] };
    expect(() => chooseEmbedding({ fp16: false }, dense, 384)).toThrow(/a Dense layer/);
    const last = { ...CONFIG, poolingModes: ['lasttoken'] };
    expect(() => chooseEmbedding({ fp16: false }, last, 384)).toThrow(/pooled by lasttoken/);
    const both = { ...CONFIG, poolingModes: ['cls_token', 'mean_tokens'] };
    expect(() => chooseEmbedding({ fp16: false }, both, 384)).toThrow(/pooled by cls_token and mean_tokens/);
  });

  it('refuses more dimensions than there are', () => {
    expect(() => chooseEmbedding({ fp16: false, matryoshka: 385 }, CONFIG, 384)).toThrow(/more than the model's 384/);
  });
});

describe('head of a reranker', () => {
  it('takes the sigmoid of one label, and leaves several alone', () => {
    expect(chooseScore({}, CONFIG, 1).head).toEqual({ label: 0, sigmoid: true });
    expect(chooseScore({ label: 1 }, CONFIG, 2).head).toEqual({ label: 1, sigmoid: false });
  });

  it('does as the config says, and as the option says before that', () => {
    const identity = { ...CONFIG, activation: 'torch.nn.modules.linear.Identity' };
    expect(chooseScore({}, identity, 1).head.sigmoid).toBe(false);
    expect(chooseScore({ activation: 'sigmoid' }, identity, 1).head.sigmoid).toBe(true);
  });

  it('refuses to guess', () => {
    const nli = { ...CONFIG, labels: ['contradiction', 'entailment', 'neutral'] };
    expect(() => chooseScore({}, nli, 3)).toThrow(/3 labels \(contradiction, entailment, neutral\).*--label INDEX/);
    expect(() => chooseScore({ label: 3 }, nli, 3)).toThrow(/--label 3/);
    expect(() => chooseScore({}, { ...CONFIG, activation: 'torch.nn.Softplus' }, 1)).toThrow(/Softplus/);
  });
});

describe('verdict', () => {
  const faults = (reference: number[][], candidate: number[][], bounds = FP16_BOUNDS) =>
    compareVectors('case', reference, candidate, bounds).faults;
  it('passes what is equal, also two rows of zeros', () => {
    expect(
      faults(
        [
          [1, 0],
          [0, 0],
        ],
        [
          [1, 0],
          [0, 0],
        ],
        FP32_BOUNDS,
      ),
    ).toEqual([]);
  });

  const refused = [
    {
      name: 'one row of several that has turned',
      given: [
        [1, 0],
        [0.99, 0.15],
      ],
      says: /cosine 0.98/,
    },
    {
      name: 'NaN',
      given: [
        [1, 0],
        [Number.NaN, 0],
      ],
      says: /1 rows are not finite/,
    },
    {
      name: 'infinity',
      given: [
        [1, 0],
        [Number.POSITIVE_INFINITY, 0],
      ],
      says: /1 rows are not finite/,
    },
    {
      name: 'zeros in place of a vector',
      given: [
        [1, 0],
        [0, 0],
      ],
      says: /cosine 0.0/,
    },
    {
      name: 'another length',
      given: [
        [1, 0],
        [1.02, 0],
      ],
      says: /length is off by 2.000 %/,
    },
    { name: 'a row too few', given: [[1, 0]], says: /shape is \[1, 2\]/ },
    { name: 'a dimension too few', given: [[1], [1]], says: /shape is \[2, 1\]/ },
  ];
  for (const { name, given, says } of refused) {
    it(`refuses ${name}`, () =>
      expect(
        faults(
          [
            [1, 0],
            [1, 0],
          ],
          given,
        ).join(),
      ).toMatch(says));
  }

  it('blames the unmodified model for its own NaN', () => {
    expect(faults([[Number.NaN]], [[1]])).toEqual(['the unmodified model gives 1 rows that are not finite']);
  });

  it('compares scores by difference, relative where they are large', () => {
    const scores = (wanted: number, given: number) => compareScores('case', [[wanted]], [[given]], FP16_BOUNDS).faults;
    expect(scores(0.5, 0.509)).toEqual([]);
    expect(scores(0.5, 0.52).join()).toMatch(/off by 0.02/);
    expect(scores(10, 10.09)).toEqual([]);
    expect(scores(-10, 10).join()).toMatch(/off by 2/);
  });

  it('finds the values that FP16 cannot hold, NaN too', () => {
    const peaks = peaksOf(['a', 'b', 'c'], [Float32Array.of(1, 65504, Number.NaN), Float32Array.of(65505, 2, 3)]);
    expect(overflows(peaks).map(({ value }) => value)).toEqual(['a', 'c']);
  });
});
