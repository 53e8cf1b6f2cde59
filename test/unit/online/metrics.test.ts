import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { tellAll } from '../../../online/events.ts';
import { StatsKeeper } from '../../../online/stats.ts';
import { createOnlineMetrics } from '../../../src/telemetry/online-metrics.ts';

describe('the metrics of the online module', () => {
  it('two clients on one registry count together; neither throws (M12)', async () => {
    const registry = new Registry();
    const [one, two] = [createOnlineMetrics(registry), createOnlineMetrics(registry)];
    for (const client of [one, two]) {
      client.ended('embed', 'ok', 3);
      client.inFlight('embed', 1);
    }
    one.inFlight('embed', -1);
    two.degraded('breaker-open');
    two.breaker('rerank', 'a:1', 'open');
    one.cut('rerank');
    const text = await registry.metrics();
    expect(text).toContain('rag_serving_online_calls_total{pool="embed",source="model",outcome="ok"} 2');
    expect(text).toContain('rag_serving_online_requests_in_flight{pool="embed"} 1');
    expect(text).toContain('rag_serving_online_degraded_total{reason="breaker-open"} 1');
    expect(text).toContain('rag_serving_online_breaker_changes_total{pool="rerank",endpoint="a:1",state="open"} 1');
    expect(text).toContain('rag_serving_online_call_duration_seconds_bucket{le="0.003",pool="embed"} 2');
    expect(text).toContain('rag_serving_online_cut_texts_total{pool="rerank"} 1');
  });

  it('a registry that holds other metrics of ours keeps them', async () => {
    const registry = new Registry();
    createOnlineMetrics(registry).ended('search', 'ARGUMENT_INVALID', 1);
    createOnlineMetrics(registry);
    expect(await registry.metrics()).toContain('{pool="search",source="none",outcome="ARGUMENT_INVALID"} 1');
  });
});

describe('StatsKeeper', () => {
  it('counts what everybody else is told as well', () => {
    const [one, two] = [new StatsKeeper(), new StatsKeeper()];
    const all = tellAll([one, two]);
    all.ended('rerank', 'degraded', 1);
    all.ended('rerank', 'ok', 1);
    all.ended('embed', 'OVERLOADED', 1);
    all.degraded('overload');
    all.inFlight('rerank', 1);
    all.breaker('embed', 'a:1', 'closed');
    expect(one.read()).toEqual({
      embed: { ok: 0, degraded: 0, failed: { OVERLOADED: 1 } },
      rerank: { ok: 1, degraded: 1, failed: {} },
      search: { ok: 0, degraded: 0, failed: {} },
      degraded: { overload: 1 },
      pools: {
        embed: { inFlight: 0, cutTexts: 0, breakers: { 'a:1': 'closed' } },
        rerank: { inFlight: 1, cutTexts: 0, breakers: {} },
      },
    });
    expect(two.read()).toEqual(one.read());
  });
});
