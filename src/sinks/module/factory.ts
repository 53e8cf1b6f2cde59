/** What a module with a sink of one's own exports, and what it is given. Part of the package's public surface. */
import type { Log } from '../../telemetry/log.ts';
import type { Sink } from '../sink.ts';

export type SinkModuleOptions = {
  /** The JSON object of RAG_SERVING_SINK_MODULE_OPTIONS, as it is; empty when unset. Check it, and never log it whole. */
  readonly options: Readonly<Record<string, unknown>>;
  /** How long a deletion is remembered at least. RAG_SERVING_TOMBSTONE_RETENTION_MS */
  readonly tombstoneRetentionMs: number;
  /** RAG_SERVING_SINK_ALLOW_MIXED_FINGERPRINTS */
  readonly allowMixedFingerprints: boolean;
  readonly log: Log;
};

/** Makes the sink and connects to nothing: `open` does. Throws, best a ServingError CONFIG_INVALID, when the options are wrong. */
export type CreateSink = (options: SinkModuleOptions) => Sink | Promise<Sink>;
