/**
 * What each command on a registry begins and ends with: settings, the store, signals, progress, the exit code.
 *
 * A signal stops at once and loses nothing: what has travelled is kept, and the next run goes on from there.
 */
import type { Env } from '../../src/config/env-reader.ts';
import { readModelsConfig } from '../../src/config/tool-programs.ts';
import type { Patience } from '../../src/registry/fetch-range.ts';
import { openStorage } from '../../src/registry/open-storage.ts';
import type { RegistryStorage } from '../../src/registry/storage.ts';
import type { Watcher } from '../../src/registry/transfer.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { listenForStop } from '../signals.ts';
import { printWarnings } from '../tool/tool-log.ts';
import { openWatcher } from './progress.ts';

export type SessionFlags = { readonly registry?: string; readonly quiet?: true; readonly json?: true };

export type Session = {
  readonly storage: RegistryStorage;
  readonly concurrency: number;
  readonly patience: Patience;
  readonly watcher: Watcher;
  readonly signal: AbortSignal;
};

export const REGISTRY_HELP = `
The registry is MODEL_REGISTRY_STORAGE_URI: s3://bucket/prefix/ or file:///folder. For S3: credentials as the AWS SDK finds
them (AWS_ACCESS_KEY_ID …, AWS_PROFILE, role of the pod or machine), AWS_DEFAULT_REGION, and for other stores
RAG_SERVING_MODEL_REGISTRY_ENDPOINT; see .env.example for the rest.`;

export const BACKOFF = { baseMs: 500, maxMs: 20_000 } as const;

export async function withRegistry(
  env: Env,
  flags: SessionFlags,
  work: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = readModelsConfig(
    flags.registry === undefined ? env : { ...env, MODEL_REGISTRY_STORAGE_URI: flags.registry },
  );
  printWarnings(config);
  const { registry } = config;
  const signals = listenForStop();
  const storage = await openStorage(registry);
  const watcher = openWatcher(process.stderr, flags.quiet === true);
  const { concurrency, attempts, timeoutMs } = registry;
  const patience = { attempts, timeoutMs, backoff: BACKOFF, random: Math.random };
  try {
    return await work({ storage, concurrency, patience, watcher, signal: signals.stopping });
  } catch (error) {
    if (!signals.stopping.aborted) throw error;
    watcher.close();
    process.stderr.write('interrupted: what has travelled is kept; run it again to go on\n');
    return exitCodes.unfinished;
  } finally {
    watcher.close();
    storage.close();
  }
}

export function printJson(result: unknown): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
