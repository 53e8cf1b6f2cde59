/**
 * The way in. It is all that an import loads: gRPC and the rest come with the first `createOnline`, so that a host which only
 * fuses rankings, or starts up lazily, does not wait for them.
 */
import type { Log } from '../src/telemetry/log.ts';
import type { MetricsRegistry } from '../src/telemetry/online-metrics.ts';
import type { Online } from './online.ts';
import type { OnlineEnv, OnlineOptions } from './settings.ts';

/** What the host lends. */
export type OnlineHost = {
  /** Metrics are counted here; without one nothing is loaded for them. */
  readonly registry?: MetricsRegistry;
  readonly log?: Log;
  /** Gives up waiting for the models, and closes what was made. */
  readonly signal?: AbortSignal;
};

/**
 * Resolves when the models are warm, or after `warmUpTimeoutMs`: then warming up goes on, `health` tells how far it is, and
 * calls answer as they do in an outage. Rejects with CONFIG_INVALID for wrong settings, with MODEL_CONTRACT_MISMATCH when a
 * model is not the one expected, with the signal's reason. Settings are options, or the variables of an environment.
 */
export async function createOnline(settings: OnlineOptions | OnlineEnv = {}, host: OnlineHost = {}): Promise<Online> {
  const { assemble } = await import('./assemble.ts');
  return assemble(settings, host);
}
