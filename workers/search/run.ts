/**
 * `rag-serving search`: the way of a query, with the online module that a search service would use.
 *
 * The store is looked at first: without a collection, or with an empty one, no model is asked.
 */
import { createOnline, type Online } from '../../online/index.ts';
import { systemClock } from '../../src/clock.ts';
import type { Env } from '../../src/config/env-reader.ts';
import { readOnlineConfig } from '../../src/config/programs.ts';
import { onlineSettings } from '../../src/config/sections/online.ts';
import { sinkSettings } from '../../src/config/sections/sink.ts';
import { readSearchConfig, type SearchConfig } from '../../src/config/tool-programs.ts';
import { ServingError } from '../../src/errors.ts';
import { currentChoice } from '../../src/sinks/changeover.ts';
import { contractMismatch } from '../../src/sinks/contract-check.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { CollectionDescription, Sink } from '../../src/sinks/sink.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { interruptible } from '../tool/interruptible.ts';
import { printWarnings, toolLog } from '../tool/tool-log.ts';
import { sinkChoice } from '../worker/store.ts';
import { queriesOf } from './queries.ts';
import { rankedByReranker, rankedBySimilarity } from './ranking.ts';
import { answerText, jsonLine } from './report.ts';

export type SearchFlags = {
  readonly limit: number;
  readonly tenant?: string;
  readonly rerank?: true;
  readonly candidates?: number;
  readonly timeout: number;
  readonly showText?: true;
  readonly showMetadata?: true;
  readonly json?: true;
};

const CANDIDATES = 30;

export async function runSearch(query: string | undefined, flags: SearchFlags, env: Env): Promise<ExitCode> {
  const config = readSearchConfig(env);
  printWarnings(config);
  const onlineEnv = onlineEnvOf(flags, env);
  const { model } = readOnlineConfig(onlineEnv).embed;
  const log = toolLog(config, 'rag-serving-search');
  return interruptible(async (signal) => {
    // What a switch of `reembed` made current, under the name that the settings have.
    const current = await currentChoice(sinkChoice(config.sink), log, signal);
    const sink = await createSink(current, log, systemClock);
    let online: Online | undefined;
    try {
      const collection = await sink.inspect(signal);
      if (collection === undefined) throw nothingThere(config);
      let number = 0;
      for await (const text of queriesOf(query, signal)) {
        signal.throwIfAborted();
        number += 1;
        if (collection.rows > 0) online ??= await createOnline(onlineEnv, { log, signal });
        const answer = await answerOf({ text, sink, online, collection, model, config, flags, signal });
        const facts = { number, collection, flags, ...answer };
        process.stdout.write(flags.json === true ? jsonLine(facts) : answerText(facts));
      }
      if (number === 0) throw new ServingError('ARGUMENT_INVALID', 'standard input has no query: one a line');
      return exitCodes.done;
    } finally {
      await Promise.all([online?.close(), sink.close()]);
    }
  });
}

type Asked = {
  readonly text: string;
  readonly sink: Sink;
  /** Undefined for an empty collection, for which no model is asked. */
  readonly online: Online | undefined;
  readonly collection: CollectionDescription;
  readonly model: string;
  readonly config: SearchConfig;
  readonly flags: SearchFlags;
  readonly signal: AbortSignal;
};

async function answerOf({ text, sink, online, collection, model, config, flags, signal }: Asked) {
  if (online === undefined) return { found: [], source: 'similarity' as const, degraded: undefined };
  const limits = { timeoutMs: flags.timeout, signal };
  const { vector, fingerprint } = await online.embed(text, limits);
  checkModel(collection, { model, fingerprint, dims: vector.length }, config);
  const limit = flags.rerank === true ? Math.max(flags.limit, flags.candidates ?? CANDIDATES) : flags.limit;
  const hits = await sink.search(vector, { limit, tenantId: flags.tenant }, signal);
  if (flags.rerank !== true) return rankedBySimilarity(hits);
  return rankedByReranker(online, text, hits, { ...limits, topK: flags.limit });
}

function checkModel(
  { collection, setting, dtype, ...stored }: CollectionDescription,
  { model, fingerprint, dims }: { readonly model: string; readonly fingerprint: string; readonly dims: number },
  { sink }: SearchConfig,
): void {
  const first = sink.kind === 'fan-out' ? sink.members[0] : sink;
  const mixed = first !== undefined && 'allowMixedFingerprints' in first && first.allowMixedFingerprints;
  // What type the vectors had does not matter to a query: both are compared as numbers.
  const contract = {
    modelName: model,
    fingerprint,
    dims,
    dtype: dtype === 'FP32' ? 'FP32' : 'FP16',
    maxBatch: 1,
  } as const;
  const mismatch = contractMismatch({ ...stored, dtype: contract.dtype }, contract, { collection, setting }, mixed);
  if (mismatch !== undefined) throw mismatch;
}

function onlineEnvOf({ rerank }: SearchFlags, env: Env): Env {
  const { name } = onlineSettings.rerankModel;
  if (rerank !== true) return { ...env, [name]: 'off' };
  if (env[name] !== 'off') return env;
  throw new ServingError('CONFIG_INVALID', `${name} is off: name a reranker there, or search without --rerank`);
}

function nothingThere({ sink }: SearchConfig): ServingError {
  const where = sink.kind === 'memory' ? 'the store memory keeps nothing beyond its process' : 'there is no collection';
  return new ServingError(
    'CONFIG_INVALID',
    `${where}: check ${sinkSettings.kinds.name} and the settings of the store, or run a worker first; nothing was made`,
  );
}
