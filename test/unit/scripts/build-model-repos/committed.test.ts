/** The committed repositories are what the source gives: `-u` (or `make docs`) writes them anew. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildsOf } from '../../../../scripts/build-model-repos/command.ts';
import { referenceEncoder } from '../../../../scripts/build-model-repos/reference-models.ts';
import { renderRepository } from '../../../../scripts/build-model-repos/repository.ts';
import { parseConfig } from '../../../../scripts/model-config/parse.ts';

const root = join(import.meta.dirname, '../../../../model-repos');
const builds = buildsOf({
  ...{ outputDir: root, pool: 'all', runtime: 'trt', truncation: 'longest_first' },
  ...{ gpus: [], instances: 1, cudaGraphs: [] },
});

const rendered = builds.map((options) => ({
  repository: options.pool.repository,
  models: renderRepository({
    ...{ pool: options.pool, runtime: options.runtime, cudaGraphs: [], servedFrom: options.servedFrom! },
    ...referenceEncoder(options.pool.modelType),
    maxTokens: options.pool.maxTokens,
    tokenizer: { backend: options.tokenizerBackend, truncation: options.truncation },
    placement: { device: options.device, gpus: options.gpus, instances: options.instances },
  }),
}));

describe('the committed model repositories', () => {
  const files = rendered.flatMap(({ repository, models }) => models.map((model) => ({ repository, ...model })));
  it.each(files)('$repository/$name is what the source gives', async ({ repository, name, text }) => {
    await expect(text).toMatchFileSnapshot(join(root, repository, name, 'config.pbtxt'));
  });

  it.each([
    ['online_embedding', 'dense_embedder_trt', 32, 2_000n],
    ['online_reranker', 'cross_encoder_trt', 32, 4_000n],
    ['batch_ingestion', 'batch_embedder_trt', 256, 50_000n],
  ])('%s: %s takes %i rows and waits %i microseconds for them', (repository, name, maxBatchSize, delay) => {
    const { text } = files.find((file) => file.repository === repository && file.name === name)!;
    expect(parseConfig(text).config).toMatchObject({
      maxBatchSize,
      schedulingChoice: { value: { maxQueueDelayMicroseconds: delay } },
    });
  });
});
