/** What `models check` and `models golden` share: the options of a call to a live model, its client, and its time limit. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import { inferenceSettings } from '../../src/config/sections/inference.ts';
import { readModelCallConfig } from '../../src/config/tool-programs.ts';
import type { InferenceClient } from '../../src/inference/client.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import { logPoolEvent } from '../../src/inference/pool-log.ts';
import { defaultBreakerPolicy } from '../../src/resilience/breaker.ts';
import { modelServerTls } from '../model-server-tls.ts';
import { printWarnings, toolLog } from '../tool/tool-log.ts';

export type ModelCallFlags = {
  readonly url?: string;
  readonly model: string;
  readonly wait: number;
  readonly timeout: number;
  readonly callTimeout: number;
};

/** Some hundred rows of any model. */
const RECEIVE_LIMIT_BYTES = 64 * 1_048_576;
const UNITS = { ms: 1, s: 1_000, m: 60_000 } as const;
const LONGEST_MS = 24 * 3_600_000;

export const CALL_HELP = `
TLS is set as for the worker, by RAG_SERVING_GRPC_TLS_ENABLED and the settings beside it (see .env.example). Times are
given as 500ms, 60s or 10m.`;

export function addModelCallOptions(command: Command): Command {
  return command
    .option('--url <host:port>', `gRPC address of the server (default: ${inferenceSettings.tritonGrpcUrl.name})`)
    .requiredOption('--model <name>', 'the model (ensemble) to ask')
    .addOption(
      time('--wait <time>', 'wait so long for a model that does not answer yet; 0s asks once', '60s', duration),
    )
    .addOption(time('--timeout <time>', 'give up after so long in all', '10m'))
    .addOption(time('--call-timeout <time>', 'longest time of one call', '30s'));
}

/** Throws CONFIG_INVALID. */
export function openModelClient({ url }: ModelCallFlags, env: Env): InferenceClient {
  const { tritonGrpcUrl } = inferenceSettings;
  const config = readModelCallConfig({ ...env, ...(url !== undefined && { [tritonGrpcUrl.name]: url }) });
  printWarnings(config);
  const log = toolLog(config, 'rag-serving-models');
  const tls = modelServerTls(config.tls, log);
  return createGrpcInferenceClient({
    target: config.tritonGrpcUrl.join(','),
    targetSetting: url === undefined ? tritonGrpcUrl.name : '--url',
    receiveLimitBytes: RECEIVE_LIMIT_BYTES,
    // Each call must reach the server: what is found out is how it answers, not how it answered before.
    breaker: { policy: defaultBreakerPolicy, failureCodes: [] },
    onEvent: (event) => logPoolEvent(log, event),
    ...(tls === undefined ? {} : { tls }),
  });
}

function time(flags: string, help: string, preset: string, parse = positiveDuration): Option {
  return new Option(flags, help).argParser(parse).default(parse(preset), preset);
}

/** Aborts at the signal of the user, or when the time is up; its reason says which in words. */
export function limitedBy(stopping: AbortSignal, timeoutMs: number): AbortSignal {
  const late = new AbortController();
  setTimeout(() => late.abort(new Error(`not done within ${timeoutMs / 1_000} s (--timeout)`)), timeoutMs).unref();
  return AbortSignal.any([stopping, late.signal]);
}

export function duration(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text) ?? [];
  const ms = number === '' ? Number.NaN : Math.round(Number(number) * UNITS[unit as keyof typeof UNITS]);
  if (ms <= LONGEST_MS) return ms;
  throw new InvalidArgumentError('Give a time like 500ms, 60s or 10m, up to 1440m.');
}

/** For times that must not be 0. */
export function positiveDuration(text: string): number {
  const ms = duration(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('Give a time above 0.');
}
