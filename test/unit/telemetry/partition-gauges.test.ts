import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { PartitionGauges } from '../../../src/telemetry/partition-gauges.ts';
import { parseExposition } from '../../support/exposition.ts';

let metrics: Metrics;
beforeEach(() => {
  metrics = createMetrics({ pool: 'p' });
});
afterEach(() => metrics.close());

async function shown(name: string): Promise<Record<string, number>> {
  const { samples } = parseExposition((await metrics.render()).text);
  const found = samples.filter((sample) => sample.name === `rag_serving_${name}`);
  return Object.fromEntries(found.map(({ labels, value }) => [labels.partition ?? '', value]));
}
const reading = (partition: number, lag: bigint, committed?: bigint) => ({ partition, lag, committed });

describe('PartitionGauges', () => {
  it('shows what the broker said of the partitions that are ours', async () => {
    const gauges = new PartitionGauges(metrics);
    gauges.read([reading(0, 5n, 10n), reading(1, 7n), reading(2, 9n, 1n)], 1_000);
    gauges.show([0, 1], 3_500);
    expect(await shown('consumer_lag_messages')).toEqual({ 0: 5, 1: 7 });
    expect(await shown('committed_offset')).toEqual({ 0: 10 });
    expect(await shown('consumer_lag_age_seconds')).toEqual({ '': 2.5 });
    expect(await shown('assigned_partitions')).toEqual({ '': 2 });
  });

  it('a revoked partition is gone at the next scrape, before the broker is asked again; one that comes back is there', async () => {
    const gauges = new PartitionGauges(metrics);
    gauges.read([reading(0, 5n, 10n), reading(1, 7n, 3n)], 0);
    gauges.show([0, 1], 0);
    gauges.show([1], 1);
    expect(await shown('consumer_lag_messages')).toEqual({ 1: 7 });
    gauges.show([], 2);
    expect(await shown('committed_offset')).toEqual({});
    gauges.show([0], 3);
    expect(await shown('committed_offset')).toEqual({ 0: 10 });
  });

  it('before the broker has said anything there is no lag and no age, rather than 0', async () => {
    new PartitionGauges(metrics).show([0], 10);
    expect(await shown('consumer_lag_messages')).toEqual({});
    expect(await shown('consumer_lag_age_seconds')).toEqual({});
  });

  it('partitions that come and go do not use up the room for labels (M06)', async () => {
    const gauges = new PartitionGauges(metrics);
    for (let first = 0; first < 5_000; first += 200) {
      const ids = Array.from({ length: 200 }, (_, index) => first + index);
      gauges.read(
        ids.map((id) => reading(id, 1n, 1n)),
        0,
      );
      gauges.show(ids, 0);
    }
    const lag = await shown('consumer_lag_messages');
    expect(Object.keys(lag)).toHaveLength(200);
    expect(lag).not.toHaveProperty('other');
  });
});
