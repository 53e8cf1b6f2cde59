/**
 * What the committed configurations are written for, until a repository is built for a model of one's own: all-MiniLM-L6-v2
 * in FP16, and a BERT-like cross-encoder that has not been chosen.
 */
import type { ModelIdentity } from '../model-config/identity.ts';
import { ENCODER_INPUTS, type ModelType } from '../model-config/tensor-contract.ts';
import type { EncoderSource } from './encoder-source.ts';

const identities: Readonly<Record<ModelType, ModelIdentity>> = {
  embedding: {
    model: 'all-MiniLM-L6-v2',
    sourceSha256: '759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e',
    tokenizerSha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
    head: 'mean-l2',
    dtype: 'FP16',
    dims: 384,
  },
  reranker: { model: 'cross-encoder', head: 'label0-sigmoid', dtype: 'FP32', dims: 1 },
};

export function referenceEncoder(modelType: ModelType): EncoderSource {
  return { identity: identities[modelType], inputs: ENCODER_INPUTS, files: {} };
}
