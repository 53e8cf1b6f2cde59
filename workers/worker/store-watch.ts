/**
 * What the single stores of a worker tell, as metrics and as checks of readiness. With one store the check `store` says it
 * all; of several, each has a check of its own, so that /ready names the one that is away.
 */
import type { SinkConfig } from '../../src/config/sections/sink.ts';
import type { CheckBoard } from '../../src/ops/readiness.ts';
import type { SinkObserver } from '../../src/sinks/observer.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';

/** A check for each of several stores, by its place in the setting: a module's own name is not known before it is loaded. */
export function storeChecks(config: SinkConfig): readonly string[] {
  return config.kind === 'fan-out' ? config.members.map(({ kind }) => `store-${kind}`) : [];
}

export function watchStores(
  config: SinkConfig,
  board: CheckBoard,
  metrics: Metrics,
  wallMs: () => number,
): SinkObserver {
  const kinds: readonly string[] = config.kind === 'fan-out' ? config.members.map(({ kind }) => kind) : [config.kind];
  return {
    called: ({ sink, operation, seconds, rows, error }) => {
      const kind = kinds.includes(sink) ? sink : 'module';
      if (config.kind === 'fan-out') {
        const check = `store-${kind}`;
        if (error === undefined) board.pass(check, wallMs());
        else board.fail(check, error.message, wallMs());
      }
      if (operation === 'write' || operation === 'remove') {
        const result = error === undefined ? 'ok' : 'failed';
        metrics.storeCallDuration.observe({ store: kind, operation, result }, seconds);
      }
      if (rows === undefined) return;
      for (const outcome of ['stored', 'superseded', 'refused'] as const) {
        metrics.storeRows.add({ store: kind, outcome }, rows[outcome]);
      }
    },
    tableIs: ({ fragments, versions, unindexedRows, lastCompactionSeconds }) => {
      metrics.lancedbFragments.set({}, fragments);
      metrics.lancedbVersions.set({}, versions);
      metrics.lancedbUnindexed.set({}, unindexedRows);
      if (lastCompactionSeconds !== undefined) metrics.lancedbCompaction.set({}, lastCompactionSeconds);
    },
  };
}
