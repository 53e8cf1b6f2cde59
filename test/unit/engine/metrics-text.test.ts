import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { metricsText } from '../../../src/engine/metrics-text.ts';
import { ModelRunner } from '../../../src/engine/model-runner.ts';
import { modelSpec } from '../../../src/engine/model-spec.ts';

const options = {
  platform: 'synthetic',
  dims: 8,
  fingerprint: 'f',
  parameters: {},
  scoredBy: 'nothing',
  maxQueueSize: 0,
  defaultTimeoutUs: 0,
};
const compute = { run: async () => [] };

describe('metricsText', () => {
  it('has the names and labels of Triton, each metric described once', () => {
    const runner = new ModelRunner(modelSpec('batch-embedder', options), compute, systemClock);
    runner.statistics.recordSuccess(3, { inputMs: 1, queueMs: 2, inferMs: 4, outputMs: 1 });
    runner.statistics.recordExecution(3, 4, 0);
    runner.statistics.recordFailure('REJECTED', 1);
    const lines = metricsText([runner]).split('\n');
    const labels = 'model="batch_embedder_ensemble",version="1"';
    expect(lines).toContain(`nv_inference_request_success{${labels}} 1`);
    expect(lines).toContain(
      'nv_inference_request_failure{model="batch_embedder_ensemble",reason="REJECTED",version="1"} 1',
    );
    expect(lines).toContain(`nv_inference_count{${labels}} 3`);
    expect(lines).toContain(`nv_inference_exec_count{${labels}} 1`);
    expect(lines).toContain(`nv_inference_request_duration_us{${labels}} 8000`);
    expect(lines).toContain(`nv_inference_queue_duration_us{${labels}} 2000`);
    expect(lines).toContain(`nv_inference_compute_infer_duration_us{${labels}} 4000`);
    expect(lines).toContain(`nv_inference_pending_request_count{${labels}} 0`);
    const types = lines.filter((line) => line.startsWith('# TYPE'));
    expect(new Set(types).size).toBe(types.length);
  });

  it('escapes label values (M01)', () => {
    const spec = { ...modelSpec('batch-embedder', options), name: 'a"b\\c\nd' };
    expect(metricsText([new ModelRunner(spec, compute, systemClock)])).toContain(
      'nv_inference_count{model="a\\"b\\\\c\\nd",version="1"} 0',
    );
  });
});
