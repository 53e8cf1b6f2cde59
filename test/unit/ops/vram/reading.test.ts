import { describe, expect, it } from 'vitest';
import { parseExposition } from '../../../../src/ops/vram/exposition.ts';
import { readVram } from '../../../../src/ops/vram/reading.ts';
import { readHoldings } from '../../../../src/ops/vram/statistics.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { GIB, tritonMetrics } from './expositions.ts';

describe('parseExposition', () => {
  it('reads what Triton writes', () => {
    const samples = parseExposition(tritonMetrics({ used: 3 * GIB, total: 24 * GIB }));
    expect(samples).toContainEqual({
      name: 'nv_gpu_memory_used_bytes',
      labels: { gpu_uuid: 'GPU-7b0f7c6e' },
      value: 3 * GIB,
    });
    expect(samples).toContainEqual({ name: 'nv_cpu_memory_used_bytes', labels: {}, value: 6_218_780_672 });
  });

  it('gives label values back as they were, whatever is in them (M01)', () => {
    const odd = 'a "model"\\with\nlines, {braces} and 🙂=';
    const written = odd.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
    expect(parseExposition(`x{model="${written}",version="1"} 1 1700000000000`)).toEqual([
      { name: 'x', labels: { model: odd, version: '1' }, value: 1 },
    ]);
  });

  it('reads our own metrics, odd label values included (M01)', async () => {
    const metrics = createMetrics({ pool: 'a "pool"\\ 🙂' });
    metrics.batchesClosed.add({ reason: 'wait' });
    const samples = parseExposition((await metrics.render()).text);
    metrics.close();
    expect(
      samples?.find(({ name, value }) => name === 'rag_serving_batches_closed_total' && value === 1)?.labels,
    ).toEqual({
      reason: 'wait',
      pool: 'a "pool"\\ 🙂',
    });
  });

  it.each([
    ['NaN', Number.NaN],
    ['+Inf', Number.POSITIVE_INFINITY],
    ['-Inf', Number.NEGATIVE_INFINITY],
    ['1.5e+10', 1.5e10],
    ['-0.25', -0.25],
  ])('reads the value %s', (text, value) => {
    expect(parseExposition(`x ${text}`)?.[0]?.value).toBe(value);
  });

  it.each([
    ['a page', '<html><body>Log in</body></html>'],
    ['a JSON error', '{"error":"not found"}'],
    ['half a line at the end', 'x 1\nnv_gpu_memory_used_bytes{gpu_uuid="GPU-1'],
    ['no value', 'x{a="b"}'],
    ['a word for a value', 'x{a="b"} many'],
    ['a label without quotes', 'x{a=b} 1'],
    ['an escape that does not exist', 'x{a="\\x"} 1'],
    ['a line without end', `x{a="${'y'.repeat(20_000)}"} 1`],
  ])('%s is not in the format', (_name, text) => {
    expect(parseExposition(text)).toBeUndefined();
  });
});

describe('readVram (M03)', () => {
  const usable = { used: 3 * GIB, total: 24 * GIB };
  const cases: readonly (readonly [string, string, unknown])[] = [
    ['one card', tritonMetrics(usable), { kind: 'gpus', gpus: [{ gpu: 'GPU-7b0f7c6e', bytes: usable }] }],
    ['no GPU', tritonMetrics(), { kind: 'absent' }],
    ['an empty answer', '', { kind: 'absent' }],
    ['a page', '<html>', { kind: 'unreachable', reason: 'the answer is no Prometheus text' }],
    ['NaN used', tritonMetrics({ used: 'NaN', total: 24 * GIB }), 'unusable'],
    ['NaN total', tritonMetrics({ used: GIB, total: 'NaN' }), 'unusable'],
    ['a total of zero', tritonMetrics({ used: 0, total: 0 }), 'unusable'],
    ['negative', tritonMetrics({ used: -1, total: 24 * GIB }), 'unusable'],
    ['infinite', tritonMetrics({ used: GIB, total: '+Inf' }), 'unusable'],
    ['more used than there is', tritonMetrics({ used: 25 * GIB, total: 24 * GIB }), 'unusable'],
    ['used alone', tritonMetrics({ used: GIB }), 'unusable'],
    ['total alone', tritonMetrics({ total: GIB }), 'unusable'],
  ];
  it.each(cases)('%s', (_name, text, expected) => {
    const unusable = { kind: 'gpus', gpus: [{ gpu: 'GPU-7b0f7c6e', bytes: undefined }] };
    expect(readVram(text)).toEqual(expected === 'unusable' ? unusable : expected);
  });

  it('several cards, one of them without numbers', () => {
    const text = tritonMetrics(
      { uuid: 'GPU-a', used: GIB, total: 24 * GIB },
      { uuid: 'GPU-b', used: 'NaN', total: 24 * GIB },
    );
    expect(readVram(text)).toEqual({
      kind: 'gpus',
      gpus: [
        { gpu: 'GPU-a', bytes: { used: GIB, total: 24 * GIB } },
        { gpu: 'GPU-b', bytes: undefined },
      ],
    });
  });
});

describe('readHoldings', () => {
  const gpu = (id: number, byte_size: number | string) => ({ type: 'GPU', id, byte_size });
  it('sums by GPU and takes the fullest; CPU memory does not count', () => {
    const answer = {
      model_stats: [
        { name: 'a', version: '1', memory_usage: [gpu(0, 3), gpu(1, 10)] },
        { name: 'b', version: '1', memory_usage: [gpu(0, '4'), { type: 'CPU', id: 0, byte_size: 99 }] },
        { name: 'c', version: '1' },
      ],
    };
    expect(readHoldings(answer)).toEqual({
      fullestBytes: 10,
      byModel: new Map([
        ['a', 13],
        ['b', 4],
      ]),
    });
  });
  it('models that say nothing are not models that hold nothing', () => {
    expect(readHoldings({ model_stats: [{ name: 'a' }] })).toEqual({ fullestBytes: undefined, byModel: new Map() });
  });
  it.each([
    [null],
    ['text'],
    [{ model_stats: [{ name: 3 }] }],
    [{ model_stats: [{ name: 'a', memory_usage: [gpu(0, -1)] }] }],
  ])('%j is no such answer', (answer) => {
    expect(readHoldings(answer)).toBeUndefined();
  });
});
